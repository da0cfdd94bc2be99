/** Headers of every response, including errors and streams. */
import type { FastifyInstance, FastifyReply } from 'fastify'

/**
 * The content policy.
 * @param connects other origins that the console calls, as its build says: of the error-reporting
 * service, and of the API
 * @param nonce for the styles of one response with index.html
 */
export function contentPolicy(connects: readonly string[], styles?: string): string {
  return [
    `default-src 'none'`,
    `script-src 'self'`,
    `style-src 'self'${styles === undefined ? '' : ` '${styles}'`}`,
    `img-src 'self' data:`,
    `font-src 'self'`,
    `connect-src ${[`'self'`, ...connects].join(' ')}`,
    `manifest-src 'self'`,
    `worker-src 'self'`,
    `base-uri 'none'`,
    `form-action 'self'`,
    `frame-ancestors 'none'`,
    `object-src 'none'`,
    `require-trusted-types-for 'script'`,
    // The console creates no Trusted Types policy: React renders everything.
    `trusted-types 'none'`,
  ].join('; ')
}

/** The content policy of a page without scripts, forms and styles of its own. */
export const pagePolicy = [
  `default-src 'none'`,
  `style-src 'self'`,
  `img-src 'self'`,
  `base-uri 'none'`,
  `form-action 'none'`,
  `frame-ancestors 'none'`,
].join('; ')

/** The content policy of the documentation's pages, which have a search form. */
export const docsPolicy = pagePolicy.replace(`form-action 'none'`, `form-action 'self'`)

/**
 * Only features that browsers recognise: an unknown name causes a warning in the browser's console.
 */
const permissions =
  'accelerometer camera display-capture geolocation gyroscope magnetometer microphone midi payment usb serial hid'.split(
    ' ',
  )

const hsts = 'max-age=31536000; includeSubDomains'

export const securityHeaders = (
  connects: readonly string[],
  tls: boolean,
): Readonly<Record<string, string>> => ({
  'content-security-policy': contentPolicy(connects),
  ...(tls && { 'strict-transport-security': hsts }),
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': permissions.map((p) => `${p}=()`).join(', '),
  'x-frame-options': 'DENY',
})

/**
 * Browsers and proxies must not cache responses of the API; the console's files set their own cache
 * header.
 */
export function addHeaders(app: FastifyInstance, headers: Readonly<Record<string, string>>): void {
  app.addHook('onRequest', (request, reply: FastifyReply, done) => {
    reply.headers(headers)
    // Also sent behind a trusted proxy: Fastify accepts `X-Forwarded-Proto` only from trusted
    // proxies.
    if (request.protocol === 'https') reply.header('strict-transport-security', hsts)
    reply.header('cache-control', 'no-store')
    reply.header('x-request-id', request.id)
    done()
  })
}
