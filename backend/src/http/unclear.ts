/**
 * Refuses requests that two programs in a row could read differently, or that no honest client sends, before anything else is looked at. What Node's own
 * parser refuses (two lengths, a length beside chunks, bare line feeds) never comes this far: `broken.ts` answers that.
 */
import type { FastifyInstance } from 'fastify'
import { Problem } from '#contract/errors.ts'
import { isText } from './body.ts'

const longestUrl = 4 * 1024

function hosts(rawHeaders: readonly string[]): number {
  let count = 0
  for (let i = 0; i < rawHeaders.length; i += 2) if (rawHeaders[i]!.toLowerCase() === 'host') count++
  return count
}

export function refuseUnclear(app: FastifyInstance): void {
  // An expectation that nobody knows may be passed over (RFC 9110 §10.1.1); Node would answer it by itself, without our headers.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))

  app.addHook('onRequest', async (request, reply) => {
    const { raw, url } = request
    const named = hosts(raw.rawHeaders)
    // RFC 9112 §3.2. HTTP/1.0 knows no Host.
    if (named > 1 || (named === 0 && raw.httpVersion !== '1.0')) {
      void reply.header('connection', 'close')
      throw new Problem('bad_request', 'The request must name one Host')
    }
    // Chunks may carry extensions, and programs disagree about where one ends; each client of ours says how long its body is.
    if (raw.headers['transfer-encoding'] !== undefined) {
      void reply.header('connection', 'close')
      throw new Problem('bad_request', 'A body must say its length by Content-Length')
    }
    if (url.length > longestUrl) throw new Problem('bad_request', 'The URL is too long')
    const query = url.indexOf('?')
    if (/%00/.test(query === -1 ? url : url.slice(0, query))) throw new Problem('bad_request', 'The path can not be read')
    if (query === -1) return
    const given = new URLSearchParams(url.slice(query + 1))
    const names = [...given.keys()]
    if (new Set(names).size !== names.length) throw new Problem('bad_request', 'A query parameter is given twice')
    if (![...given].flat().every(isText)) throw new Problem('bad_request', 'The query holds a character that can not be kept')
    if (names.includes('__proto__')) throw new Problem('bad_request', 'The query holds a key that is not allowed')
  })
}
