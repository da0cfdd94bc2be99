/**
 * The HTTP/2 stream of one call, made tolerant of the way that grpc-go ends calls.
 *
 * A server may send its full response before it has received the end of the request. It then stops the client with RST_STREAM(NO_ERROR). The response is
 * complete and must not be discarded (RFC 9113 §8.1). grpc-go sends this reset whenever it writes its trailers before it reads our END_STREAM (grpc-go
 * `internal/transport/http2_server.go`: `finishStream` with `rst`). Node marks such a stream as closed at once, although the response can still be read, and
 * refuses to iterate over the stream: "Premature close".
 */
import { type ClientHttp2Stream, constants } from 'node:http2'
import { Readable } from 'node:stream'

type WriteCallback = (error?: Error | null) => void

/**
 * Prepares `stream` for a call with a single request message. Call this before the request is written.
 * - Reading begins at once, so that the response is kept however the stream ends. A slow reader still slows the server down.
 * - The only message is held back and sent together with the end of the request: most servers then have no reason to reset the stream.
 * - A request that can no longer be sent is no failure if the response is complete.
 */
export function readWholeAnswer(stream: ClientHttp2Stream): void {
  let complete = false
  stream.once('response', (_headers, flags) => (complete ||= (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0))
  stream.once('trailers', () => (complete = true))

  const body = new Readable({ read: () => void stream.resume() })
  // If there is a reader, the reader gets the error. Without a reader the stream's own error counts.
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
