/**
 * Traces by OpenTelemetry's SDK, sent by OTLP over HTTP in batches. Loaded only if traces are on.
 *
 * Nothing of it is registered globally: libraries that look for a global tracer, such as
 * prom-client, find none, and two installations in one process, as in tests, don't mix.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import {
  type Context,
  isSpanContextValid,
  ROOT_CONTEXT,
  type Span as OtelSpan,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
} from '@opentelemetry/api'
import { type ExportResult, ExportResultCode, W3CTraceContextPropagator } from '@opentelemetry/core'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { resourceFromAttributes } from '@opentelemetry/resources'
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type ReadableSpan,
  type Sampler,
  type SpanExporter,
  type SpanProcessor,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import type { Log } from '../log.ts'
import type { SamplerSettings, TracingConfig } from './settings.ts'
import type { Attributes, Span, SpanOptions, TraceHeaders, Tracing } from './tracing.ts'

/** The log has at most one line per this time about spans that were lost. */
const lossLogMs = 5 * 60_000
/** How long the shutdown waits for a receiver. */
const stopMs = 2_000
/** Longest value of an attribute. Statements are the longest. */
const longestValue = 1_000
/** Spans that wait to be sent: a few MB at most. Others are lost while the receiver is too slow. */
const mostWaiting = 4_096
const tooSlow = 'it answers too slowly'

type Lost = (count: number, why: string) => void

interface OtelParts {
  readonly settings: TracingConfig
  readonly version: string
  /** Tells this process from others of the same service. */
  readonly instance: string
  readonly log: Log
}

function samplerOf({ root, ratio, followsParent }: SamplerSettings): Sampler {
  const own =
    root === 'always_on'
      ? new AlwaysOnSampler()
      : root === 'always_off'
        ? new AlwaysOffSampler()
        : new TraceIdRatioBasedSampler(ratio)
  return followsParent ? new ParentBasedSampler({ root: own }) : own
}

/**
 * Passes spans on in batches. Counts those that wait, and those that are lost: because too many
 * wait, or because the receiver didn't take them. The SDK itself drops both silently.
 */
function sending(exporter: SpanExporter, settings: TracingConfig, lost: Lost): SpanProcessor {
  let waiting = 0
  const counted = {
    export: (spans: ReadableSpan[], done: (result: ExportResult) => void) => {
      waiting -= spans.length
      exporter.export(spans, (result) => {
        if (result.code !== ExportResultCode.SUCCESS) lost(spans.length, whyLost(result.error))
        done({ code: ExportResultCode.SUCCESS })
      })
    },
    forceFlush: async () => exporter.forceFlush?.(),
    shutdown: () => exporter.shutdown(),
  } satisfies SpanExporter
  const batches = new BatchSpanProcessor({
    exporter: counted,
    maxQueueSize: mostWaiting,
    scheduledDelayMillis: settings.delayMs,
    exportTimeoutMillis: settings.timeoutMs + 1_000,
  })
  return {
    onStart: (span, parent) => batches.onStart(span, parent),
    onEnd: (span) => {
      if ((span.spanContext().traceFlags & TraceFlags.SAMPLED) === 0) return
      if (waiting >= mostWaiting) return lost(1, tooSlow)
      waiting++
      batches.onEnd(span)
    },
    forceFlush: () => batches.forceFlush(),
    shutdown: () => batches.shutdown(),
  }
}

/** The code of a connection's error, or the HTTP status, without the receiver's words. */
function whyLost(error: (Error & { code?: unknown }) | undefined): string {
  const { code, cause } = error ?? {}
  if (typeof code === 'number') return `it answered with HTTP status ${code}`
  const of = typeof code === 'string' ? code : (cause as { code?: unknown } | undefined)?.code
  if (typeof of === 'string' && /^\w{1,40}$/.test(of)) return of
  return /time(d )?out/i.test(error?.message ?? '') ? tooSlow : 'it did not answer'
}

export function otelTracing({ settings, version, instance, log }: OtelParts): Tracing {
  let lostSpans = 0
  let loggedAt = -Infinity
  const lost: Lost = (count, reason) => {
    lostSpans += count
    if (performance.now() - loggedAt < lossLogMs) return
    loggedAt = performance.now()
    log.warn('tracing.spans_lost', { count: lostSpans, host: settings.endpoint.host, reason })
    lostSpans = 0
  }
  const exporter = new OTLPTraceExporter({
    url: settings.endpoint.href,
    headers: { ...settings.headers },
    timeoutMillis: settings.timeoutMs,
  })
  const provider = new TracerProvider({
    resource: resourceFromAttributes({
      'service.name': 'steelyard',
      'service.version': version,
      'service.instance.id': instance,
      ...settings.resource,
    }),
    sampler: samplerOf(settings.sampler),
    spanLimits: { attributeValueLengthLimit: longestValue },
    spanProcessors: [sending(exporter, settings, lost)],
  })
  const tracer = provider.getTracer('steelyard', version)
  const propagator = new W3CTraceContextPropagator()
  const storage = new AsyncLocalStorage<Context>()

  const contextOf = (from: TraceHeaders): Context =>
    propagator.extract(ROOT_CONTEXT, from, {
      keys: (carrier: TraceHeaders) => Object.keys(carrier),
      get: (carrier: TraceHeaders, key) => carrier[key as keyof TraceHeaders],
    })
  const active = (): OtelSpan | undefined => {
    const context = storage.getStore()
    return context && trace.getSpan(context)
  }
  const start = (
    name: string,
    parent: Context,
    { kind, attributes = {}, agoMs }: SpanOptions,
  ): Span => {
    const span = tracer.startSpan(
      name,
      {
        kind:
          kind === 'server'
            ? SpanKind.SERVER
            : kind === 'client'
              ? SpanKind.CLIENT
              : SpanKind.INTERNAL,
        attributes,
        ...(agoMs !== undefined && { startTime: Date.now() - agoMs }),
      },
      parent,
    )
    const context = trace.setSpan(parent, span)
    return {
      set: (more: Attributes) => void span.setAttributes(more),
      within: (act) => storage.run(context, act),
      end: (failure) => {
        if (failure !== undefined)
          span.setAttribute('error.type', failure).setStatus({ code: SpanStatusCode.ERROR })
        span.end()
      },
    }
  }
  return {
    begin: (name, { from = {}, ...options } = {}) => start(name, contextOf(from), options),
    child: (name, options = {}) =>
      active()?.isRecording() === true ? start(name, storage.getStore()!, options) : undefined,
    note: (attributes) => void active()?.setAttributes(attributes),
    traceparent: () => {
      const context = active()?.spanContext()
      if (!context || !isSpanContextValid(context)) return undefined
      const flags = context.traceFlags.toString(16).padStart(2, '0')
      return `00-${context.traceId}-${context.spanId}-${flags}`
    },
    async stop() {
      const late = new Promise<void>((resolve) => setTimeout(resolve, stopMs).unref())
      await Promise.race([provider.shutdown().catch(() => undefined), late])
    },
  }
}
