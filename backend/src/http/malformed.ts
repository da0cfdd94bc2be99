/**
 * Refuses requests that a proxy and this server could parse differently or that no honest client
 * sends, before any other processing. Requests that the parser of Node.js refuses (two lengths, a
 * length beside chunks, bare line feeds) never reach the hooks: `refuseMalformed` answers them.
 */
import { randomUUID } from 'node:crypto'
import type { Socket } from 'node:net'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { type ErrorBody, Problem } from '#contract/errors.ts'
import { watchChunks } from './chunks.ts'
import { isForPage } from './pages/console.ts'
import { queryOf } from './query.ts'

const longestUrl = 4 * 1024
const notPlain =
  'A chunked body must have no extensions and no trailers, and must not follow a request that is still running'

/** Refuses the request and closes the connection. */
function refuse(reply: FastifyReply, sentence: string): never {
  void reply.header('connection', 'close')
  throw new Problem('bad_request', sentence)
}

export function refuseAmbiguous(app: FastifyInstance): void {
  // Unknown `Expect` headers are ignored, as RFC 9110 §10.1.1 allows. Node.js would respond to them
  // by itself, without the usual headers.
  app.server.on('checkExpectation', (request, response) =>
    app.server.emit('request', request, response),
  )

  const isPlain = watchChunks(app.server)

  app.addHook('onRequest', (request, reply, done) => {
    const { raw, url } = request
    let named = 0
    for (let i = 0; i < raw.rawHeaders.length; i += 2) {
      const name = raw.rawHeaders[i]!
      if (name.length === 4 && name.toLowerCase() === 'host') named++
    }
    // RFC 9112 §3.2. HTTP/1.0 doesn't require a Host header.
    if (named > 1 || (named === 0 && raw.httpVersion !== '1.0'))
      refuse(reply, 'The request must have exactly one Host header')
    const coding = raw.headers['transfer-encoding']
    if (coding !== undefined) {
      const bodiless = request.method === 'GET' || request.method === 'HEAD'
      // RFC 9112 §6.1: HTTP/1.0 has no transfer codings. Codings other than chunked aren't
      // supported.
      if (bodiless || raw.httpVersion === '1.0' || coding.toLowerCase() !== 'chunked')
        refuse(reply, 'A body must be sent with Content-Length or in chunks')
      if (!isPlain(raw)) refuse(reply, notPlain)
    }
    // A page may have any path and query, because only the console reads them. A request that has a
    // route, such as `/%761/nodes`, is not for a page.
    if (request.is404 && isForPage(request)) return done()
    if (url.length > longestUrl) throw new Problem('bad_request', 'The URL is too long')
    const query = url.indexOf('?')
    if (/%00/.test(query === -1 ? url : url.slice(0, query)))
      throw new Problem('bad_request', 'The path cannot be read')
    if (query === -1) return done()
    const { fault } = queryOf(url.slice(query + 1))
    done(fault === undefined ? undefined : new Problem('bad_request', fault))
  })
  // At this point the whole body has arrived and no handler has run.
  app.addHook('preValidation', ({ raw }, reply, done) => {
    if (raw.headers['transfer-encoding'] !== undefined && !isPlain(raw)) refuse(reply, notPlain)
    done()
  })
}

const answers: Readonly<Record<string, readonly [status: string, sentence: string]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'The request took too long'],
  HPE_HEADER_OVERFLOW: ['431 Request Header Fields Too Large', 'The headers are too large'],
}

/**
 * Responds to bytes that are no HTTP request, and closes the connection. No hook runs for them, so
 * the response is built here, in the usual format and with the usual headers. Neither the response
 * nor the log repeats what the client sent.
 */
export const refuseMalformed =
  (headers: Readonly<Record<string, string>>) =>
  (error: Error & { code?: string }, socket: Socket): void => {
    if (error.code === 'ECONNRESET' || socket.destroyed) return
    const [status, sentence] = answers[error.code ?? ''] ?? [
      '400 Bad Request',
      'The request cannot be read',
    ]
    const request_id = randomUUID()
    const body = JSON.stringify({
      error: sentence,
      code: 'bad_request',
      request_id,
    } satisfies ErrorBody)
    const all = {
      ...headers,
      'cache-control': 'no-store',
      'x-request-id': request_id,
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(body)),
      connection: 'close',
    }
    const head = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
    if (socket.writable) socket.write(`HTTP/1.1 ${status}\r\n${head.join('')}\r\n${body}`)
    socket.destroySoon()
  }
