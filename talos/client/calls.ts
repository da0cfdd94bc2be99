/**
 * Calls with a deadline, the caller's abort signal, errors as TalosError, and a limit on the size
 * of responses.
 */
import { setImmediate } from 'node:timers/promises'
import type {
  DescMessage,
  DescMethodClientStreaming,
  DescMethodServerStreaming,
  DescMethodUnary,
  MessageInitShape,
  MessageShape,
} from '@bufbuild/protobuf'
import type { Metadata } from '../proto/gen/common/common_pb.ts'
import { GrpcStatus, TalosError, talosError } from './errors.ts'
import { callEach, callStream, callUpload, decode, type OpenStream } from './grpc.ts'
import { messageText } from './text.ts'
import { lateBy } from '#contract/connections/causes.ts'

// Limits for everything that a server sends, because servers are not trusted.

/** Maximum number of elements kept of a list from a server. */
export const maxItems = 1024
/**
 * Maximum number of elements of a list that are read to find the wanted ones: pods can add
 * thousands of links.
 */
export const maxScanned = 65_536
/** Maximum bytes of all messages of one list. */
export const maxListBytes = 1024 * 1024

/**
 * A count or size as a number. Throws an error that names the field if no real machine could have
 * the value.
 */
export function count(value: bigint | number, field: string): number {
  const number = Number(value)
  if (!Number.isSafeInteger(number) || number < 0)
    throw new TalosError('invalid_data', `server sent invalid data (${field})`)
  return number
}

export interface CallOptions {
  /** Overrides the client's deadline. */
  deadlineMs?: number | undefined
  signal?: AbortSignal | undefined
}

/** The connection of a call. */
export interface CallContext {
  open: OpenStream
  deadlineMs: number
  signal: AbortSignal | undefined
  /** Why the connection ended, or undefined. */
  failure: () => unknown
  /** Aborted when the connection has ended, which ends all calls on it. */
  ended: AbortSignal
}

/** Passes the bytes of each message of a short response to `receive`, until it returns false. */
export async function each<I extends DescMessage, O extends DescMessage>(
  context: CallContext,
  options: CallOptions,
  method: DescMethodUnary<I, O> | DescMethodServerStreaming<I, O>,
  request: MessageInitShape<I>,
  receive: (bytes: Buffer) => boolean,
): Promise<void> {
  try {
    await callEach(
      context.open,
      method,
      request,
      { timeoutMs: options.deadlineMs ?? context.deadlineMs, signals: signalsOf(context, options) },
      receive,
    )
  } catch (error) {
    throw await failureOf(error, context, options)
  }
}

/** Makes one call with a single response, and returns its bytes. */
export async function unaryBytes<I extends DescMessage, O extends DescMessage>(
  context: CallContext,
  options: CallOptions,
  method: DescMethodUnary<I, O>,
  request: MessageInitShape<I>,
): Promise<Buffer> {
  const answers: Buffer[] = []
  await each(context, options, method, request, (bytes) => answers.push(bytes) === 1)
  if (answers.length !== 1)
    throw new TalosError('invalid_data', `server sent invalid data (${answers.length} messages)`)
  return answers[0]!
}

/** Makes one call with a single response. */
export async function unary<I extends DescMessage, O extends DescMessage>(
  context: CallContext,
  options: CallOptions,
  method: DescMethodUnary<I, O>,
  request: MessageInitShape<I>,
): Promise<MessageShape<O>> {
  return decode(method.output, await unaryBytes(context, options, method, request))
}

/**
 * Streams the messages of `source` and returns the single response. An error of `source` is thrown
 * unchanged.
 */
export async function upload<I extends DescMessage, O extends DescMessage>(
  context: CallContext,
  options: CallOptions,
  method: DescMethodClientStreaming<I, O>,
  source: AsyncIterable<MessageInitShape<I>>,
): Promise<MessageShape<O>> {
  let ofSource: { readonly error: unknown } | undefined
  async function* watched() {
    try {
      yield* source
    } catch (error) {
      ofSource = { error }
      throw error
    }
  }
  try {
    return await callUpload(context.open, method, watched(), {
      timeoutMs: options.deadlineMs ?? context.deadlineMs,
      signals: signalsOf(context, options),
    })
  } catch (error) {
    if (ofSource) throw ofSource.error
    throw await failureOf(error, context, options)
  }
}

export interface StreamBounds {
  /**
   * Milliseconds until the stream must end. Undefined for a stream that stays open for new
   * messages.
   */
  untilMs?: number | undefined
  /** Milliseconds until the first message, for streams that send a message at once. */
  firstWithinMs?: number | undefined
}

/**
 * The messages of a stream. Leaving the loop over them ends the call. Only the current message is
 * in memory; a slow reader slows the server down.
 */
export async function* stream<I extends DescMessage, O extends DescMessage>(
  context: CallContext,
  options: CallOptions,
  bounds: StreamBounds,
  method: DescMethodServerStreaming<I, O>,
  request: MessageInitShape<I>,
): AsyncGenerator<MessageShape<O>, void, undefined> {
  const own = new AbortController()
  let late: TalosError | undefined
  const first =
    bounds.firstWithinMs === undefined
      ? undefined
      : setTimeout(() => {
          late = new TalosError('timeout', lateBy(bounds.firstWithinMs!))
          own.abort()
        }, bounds.firstWithinMs)
  try {
    for await (const message of callStream(context.open, method, request, {
      timeoutMs: bounds.untilMs,
      signals: [...signalsOf(context, options), own.signal],
    })) {
      clearTimeout(first)
      yield message
    }
  } catch (error) {
    throw late ?? (await failureOf(error, context, { ...options, deadlineMs: bounds.untilMs }))
  } finally {
    clearTimeout(first)
  }
}

const signalsOf = (context: CallContext, { signal }: CallOptions): AbortSignal[] =>
  signal === undefined ? [context.ended] : [context.ended, signal]

async function failureOf(
  error: unknown,
  context: CallContext,
  options: CallOptions,
): Promise<TalosError> {
  const timeoutMs = options.deadlineMs ?? context.deadlineMs
  if (options.signal?.aborted === true) return talosError(error, timeoutMs, options.signal)
  if (error instanceof GrpcStatus || error instanceof TalosError)
    return talosError(error, timeoutMs, context.signal)
  // A stream fails before its connection does. Wait for the connection's error, which is more
  // specific (such as a TLS alert).
  await setImmediate()
  return talosError(context.failure() ?? error, timeoutMs, context.signal)
}

/**
 * The single element of a response. Talos wraps responses in a list, because it can forward a call
 * to several machines.
 */
export function one<T extends { metadata?: Metadata | undefined }>(
  messages: readonly T[],
  call: string,
): T {
  const [message] = messages
  if (message === undefined)
    throw new TalosError('invalid_data', `server sent invalid data (empty answer to ${call})`)
  refuseError(message.metadata)
  return message
}

/** Throws the error that a response or a message of a stream contains, if any. */
export function refuseError(metadata: Metadata | undefined): void {
  if (metadata !== undefined && metadata.error !== '')
    throw new TalosError('other', messageText(metadata.error))
}
