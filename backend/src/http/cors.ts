/**
 * Lets consoles of other origins call the API (CORS,
 * https://fetch.spec.whatwg.org/#http-cors-protocol). The origins are those of
 * `STEELYARD_CONSOLE_ORIGINS`. Cookies are never allowed: the API is called with an access token.
 */
import type { FastifyInstance } from 'fastify'

/** Request headers that the console sends. */
const sent = [
  'authorization',
  'content-type',
  'idempotency-key',
  'if-match',
  'if-none-match',
  'last-event-id',
].join(', ')
/** Response headers that the console reads. */
const read = ['content-disposition', 'etag', 'retry-after', 'x-request-id'].join(', ')
const methods = 'GET, HEAD, POST, PATCH, PUT, DELETE'
/** How long a browser may remember the answer to a preflight request. */
const rememberSeconds = 600

export function allowOrigins(app: FastifyInstance, origins: readonly string[]): void {
  if (origins.length === 0) return
  const allowed = new Set(origins)
  app.addHook('onRequest', async (request, reply) => {
    const { origin } = request.headers
    if (!/^\/(?:v1\/|healthz$)/.test(request.url) || origin === undefined || !allowed.has(origin))
      return undefined
    void reply.headers({
      'access-control-allow-origin': origin,
      'access-control-expose-headers': read,
      'cross-origin-resource-policy': 'cross-origin',
    })
    const isPreflight =
      request.method === 'OPTIONS' && request.headers['access-control-request-method'] !== undefined
    if (!isPreflight) return undefined
    return reply
      .status(204)
      .headers({
        'access-control-allow-methods': methods,
        'access-control-allow-headers': sent,
        'access-control-max-age': String(rememberSeconds),
      })
      .send()
  })
  // The response depends on the origin, for caches that store it even so.
  app.addHook('onSend', async (request, reply) => {
    if (!request.url.startsWith('/v1/')) return
    const vary = reply.getHeader('vary')
    void reply.header('vary', vary === undefined ? 'origin' : `${String(vary)}, origin`)
  })
}
