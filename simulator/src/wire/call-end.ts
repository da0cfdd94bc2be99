import { constants, type Http2ServerRequest, type Http2ServerResponse, type ServerHttp2Session } from 'node:http2'

/**
 * How grpc-go ends a call: a handler for a single message answers as soon as that message arrives. If the response is complete before the client
 * ends its request, RST_STREAM(NO_ERROR) follows the trailers (grpc-go: internal/transport/http2_server.go, finishStream with `rst`).
 */

/** The prefix of a message: whether it is compressed, and its length (gRPC over HTTP/2, Length-Prefixed-Message). */
const PREFIX_BYTES = 5
const EMPTY_MESSAGE = Buffer.alloc(PREFIX_BYTES)
const WINDOW_BYTES = 65_535

/** Allows the client of a connection to send only the headers of a call until the server has answered. */
export const holdBack = (session: ServerHttp2Session): void => session.settings({ initialWindowSize: 0 })

/** Ends a call as grpc-go does. Call this before anything reads the request. With `early`, a call whose request is always empty is answered at once. */
export const endAsGrpcGo = (
  request: Http2ServerRequest,
  response: Http2ServerResponse,
  { asksNothing, early }: { asksNothing: boolean; early: boolean },
): void => {
  const { stream } = request
  let isWhole = false
  stream.once('end', () => (isWhole = true))
  response.stream.once('wantTrailers', () => {
    // Reset the stream only later, because a reset discards everything that isn't written yet, including the trailers.
    setImmediate(() => {
      if (!isWhole && !stream.destroyed) stream.close(constants.NGHTTP2_NO_ERROR)
    })
  })
  const isAnsweredAtOnce = early && asksNothing
  if (early && !asksNothing) letThrough(request)
  const message = isAnsweredAtOnce ? Promise.resolve(EMPTY_MESSAGE) : firstMessage(request)
  if (isAnsweredAtOnce) stream.resume()
  request[Symbol.asyncIterator] = () => once(message)
}

async function* once(message: Promise<Buffer>): AsyncGenerator<Buffer, undefined> {
  yield await message
  return undefined
}

/** Lets the request of one call through on a connection that holds requests back. */
const letThrough = ({ stream }: Http2ServerRequest): void => {
  const session = stream.session
  session?.settings({ initialWindowSize: WINDOW_BYTES })
  stream.once('end', () => void (session?.destroyed === false && session.settings({ initialWindowSize: 0 })))
}

/** The bytes of the first message, or all bytes if the request ends earlier. Later bytes are discarded. */
const firstMessage = ({ stream }: Http2ServerRequest): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    let chunks: Buffer[] = []
    let length = 0
    let wanted = Number.POSITIVE_INFINITY
    const finish = (): void => {
      resolve(Buffer.concat(chunks))
      chunks = []
    }
    stream.on('data', (chunk: Buffer) => {
      if (length >= wanted) return
      chunks.push(chunk)
      length += chunk.length
      if (wanted === Number.POSITIVE_INFINITY && length >= PREFIX_BYTES) {
        chunks = [Buffer.concat(chunks)]
        wanted = PREFIX_BYTES + chunks[0]!.readUInt32BE(1)
      }
      if (length >= wanted) finish()
    })
    stream.once('end', finish)
    stream.once('error', reject)
    stream.once('close', finish)
  })
