/** Spans of requests. */
import type { FastifyInstance } from 'fastify'
import type { Tracing } from '../tracing/tracing.ts'

const one = (header: string | string[] | undefined): string | undefined =>
  Array.isArray(header) ? header.join(',') : header

/**
 * Traces the API's calls from now on, each as part of the caller's trace if it names one. Not
 * traced: the console's files, `/metrics`, health checks, and event streams, which last as long as
 * their reader wants.
 */
export function traceRequests(app: FastifyInstance, tracing: Tracing): void {
  app.addHook('onRequest', (request, reply, done) => {
    const { operation } = request.routeOptions.config
    if (!operation || operation.media === 'text/event-stream') return done()
    const { method, headers } = request
    const span = tracing.begin(`${method} ${operation.path}`, {
      kind: 'server',
      from: { traceparent: one(headers.traceparent), tracestate: one(headers.tracestate) },
      attributes: {
        'http.request.method': method,
        'http.route': operation.path,
        'url.scheme': request.protocol,
        // Also in the audit log, and in the response's header.
        'steelyard.request_id': request.id,
      },
    })
    let isWhole = false
    reply.raw.once('finish', () => (isWhole = true))
    reply.raw.once('close', () => {
      const { statusCode } = reply.raw
      span.set({ 'http.response.status_code': statusCode })
      span.end(!isWhole ? 'cut_off' : statusCode >= 500 ? String(statusCode) : undefined)
    })
    span.within(done)
  })
}
