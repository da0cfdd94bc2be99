/**
 * Traces: where the time of a request goes, from the request over the operation and its runs to the
 * calls of machines. The rest of the program knows only this interface, and calls it only if traces
 * are on; `otel.ts`, which is loaded only then, is the one file that knows OpenTelemetry.
 *
 * What a span may say: names that the program itself declares (routes, queues, statements without
 * their values, methods), ids, addresses of machines, states and kinds of errors. Never a body, a
 * query, a header, a value of a statement, or the message of an error, which may repeat any of
 * these.
 */
export type Attributes = Readonly<Record<string, string | number | undefined>>

/** W3C Trace Context. Anything else than its format counts as missing. */
export interface TraceHeaders {
  readonly traceparent?: string | undefined
  readonly tracestate?: string | undefined
}

export interface SpanOptions {
  /** `server` answers a call, `client` makes one; by default the work inside the program. */
  readonly kind?: 'server' | 'client'
  readonly attributes?: Attributes
  /** How long ago the work began, in ms, if the span is begun when it ends. */
  readonly agoMs?: number
}

export interface Span {
  readonly set: (attributes: Attributes) => void
  /** Runs `act`. Spans that begin meanwhile, also in what it awaits, are children of this one. */
  readonly within: <T>(act: () => T) => T
  /** `failure`: kind of the error that ended the work. */
  readonly end: (failure?: string) => void
}

export interface Tracing {
  /** A span that continues the trace of the headers, or begins a trace. */
  readonly begin: (name: string, options?: SpanOptions & { readonly from?: TraceHeaders }) => Span
  /**
   * A child of the span in which the caller runs. Undefined if there is none, if its trace isn't
   * recorded, or if it has ended: work that a run leaves behind isn't part of it.
   */
  readonly child: (name: string, options?: SpanOptions) => Span | undefined
  /** Adds to the span in which the caller runs. */
  readonly note: (attributes: Attributes) => void
  /** The context of the span in which the caller runs, to be continued later. */
  readonly traceparent: () => string | undefined
  /** Sends what is waiting to be sent, for a few seconds at most. */
  readonly stop: () => Promise<void>
}

/** The kind of an error: its code or its class, never its message. */
export function kindOf(error: unknown): string {
  if (!(error instanceof Error)) return 'error'
  for (const key of ['kind', 'code'] as const) {
    const word: unknown = key in error ? error[key as keyof Error] : undefined
    if (typeof word === 'string' && /^\w{1,60}$/.test(word)) return word
  }
  return error.name
}

/** Runs `act` in the span, if there is one, and ends the span with it. */
export async function inSpan<T>(span: Span | undefined, act: () => Promise<T>): Promise<T> {
  if (!span) return act()
  try {
    const result = await span.within(act)
    span.end()
    return result
  } catch (error) {
    span.end(kindOf(error))
    throw error
  }
}
