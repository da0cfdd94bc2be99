/**
 * The HTTP/2 stream of one call, made tolerant of how grpc-go ends it.
 *
 * A server may answer in full before it has seen the end of the request, and then asks the client to stop sending with RST_STREAM(NO_ERROR); the answer is
 * complete and must not be discarded (RFC 9113 §8.1). grpc-go does so whenever it writes its trailers before it reads our END_STREAM (grpc-go
 * `internal/transport/http2_server.go`: `finishStream` with `rst`). Node marks such a stream as closed at once, although its answer can still be read, and
 * refuses to iterate over it: "Premature close".
 */
import { type ClientHttp2Stream, constants } from 'node:http2'
import { Readable } from 'node:stream'

type WriteCallback = (error?: Error | null) => void

/**
 * Prepares `stream` for a call with a single request message; to be called before its request is written.
 * - Reading begins at once, so that the answer is kept however the stream ends. A slow reader still slows the server down.
 * - The only message is held back until the end of the request, and both go out together: most servers then have no reason to reset.
 * - A request that can't be sent any more is no failure once the answer is complete.
 */
export function readWholeAnswer(stream: ClientHttp2Stream): void {
  let complete = false
  stream.once('response', (_headers, flags) => (complete ||= (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0))
  stream.once('trailers', () => (complete = true))

  const body = new Readable({ read: () => void stream.resume() })
  // A reader gets the error; without a reader the stream's own error counts.
  body.on('error', () => {})
  stream.on('data', (chunk: Buffer) => body.push(chunk) || stream.pause())
  stream.once('end', () => body.push(null))
  stream.once('error', (error) => body.destroy(error))
  stream.once('close', () => {
    if (!body.readableEnded && !stream.readableEnded) body.destroy(prematureClose())
  })
  stream[Symbol.asyncIterator] = () => body[Symbol.asyncIterator]()

  let held: Buffer | undefined
  const end = stream.end.bind(stream)
  const settled = (callback: WriteCallback) => (error?: Error | null) => callback(complete ? null : error)
  stream.write = (chunk: Buffer, _encoding?: unknown, callback?: WriteCallback): boolean => {
    if (held !== undefined) throw new Error('a call sends one message')
    held = chunk
    if (callback !== undefined) queueMicrotask(callback)
    return true
  }
  stream.end = (callback?: WriteCallback) => end(held, settled(callback ?? (() => {})))
}

function prematureClose(): NodeJS.ErrnoException {
  return Object.assign(new Error('Premature close'), { code: 'ERR_STREAM_PREMATURE_CLOSE' })
}
