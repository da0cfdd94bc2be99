/** Answers bytes that are no HTTP request. No hook runs for them, so the answer is written by hand, with the shape and the headers of every other answer. */
import { randomUUID } from 'node:crypto'
import type { Socket } from 'node:net'
import type { ErrorBody } from '#contract/errors.ts'

const answers: Readonly<Record<string, readonly [status: string, sentence: string]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'The request took too long'],
  HPE_HEADER_OVERFLOW: ['431 Request Header Fields Too Large', 'The headers are too large'],
}

/** Answers and closes. Neither the answer nor the log repeats what the client sent. */
export const refuseMalformed =
  (headers: Readonly<Record<string, string>>) =>
  (error: Error & { code?: string }, socket: Socket): void => {
    if (error.code === 'ECONNRESET' || socket.destroyed) return
    const [status, sentence] = answers[error.code ?? ''] ?? ['400 Bad Request', 'The request can not be read']
    const request_id = randomUUID()
    const body = JSON.stringify({ error: sentence, code: 'bad_request', request_id } satisfies ErrorBody)
    const all = {
      ...headers,
      'cache-control': 'no-store',
      'x-request-id': request_id,
      'content-type': 'application/json; charset=utf-8',
      'content-length': String(Buffer.byteLength(body)),
      connection: 'close',
    }
    const head = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
    if (socket.writable) socket.write(`HTTP/1.1 ${status}\r\n${head.join('')}\r\n${body}`)
    socket.destroySoon()
  }
