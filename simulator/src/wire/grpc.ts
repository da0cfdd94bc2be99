/**
 * gRPC on HTTP/2 streams (github.com/grpc/grpc, doc/PROTOCOL-HTTP2.md): a call has one request
 * message, one or many response messages, and a status.
 *
 * Written here, because one process simulates ten thousand servers, and a library's handler takes
 * most of their processor time.
 *
 * Calls end as in grpc-go: a handler answers as soon as the request message has arrived. If the
 * response is complete before the client ends its request, RST_STREAM(NO_ERROR) follows the
 * trailers (grpc-go: internal/transport/http2_server.go, finishStream with `rst`).
 */
import { once } from 'node:events'
import {
  constants,
  createSecureServer,
  type IncomingHttpHeaders,
  type SecureServerOptions,
  type ServerHttp2Stream,
} from 'node:http2'
import {
  create,
  type DescMessage,
  fromBinary,
  type Message,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf'
import { EmptySchema } from '@bufbuild/protobuf/wkt'
import {
  Code,
  ConnectError,
  createContextValues,
  type HandlerContext,
  type MethodImplSpec,
  type ServiceImplSpec,
} from '@connectrpc/connect'
import { PEER, type Peer } from './peer.ts'

export interface Call {
  readonly method: Extract<
    MethodImplSpec,
    { kind: 'unary' | 'server_streaming' | 'client_streaming' }
  >['method']
  readonly header: IncomingHttpHeaders
  /** Empty if the request is a stream. */
  readonly message: Message
  readonly peer: Peer
  /** Aborted when the stream of the call closes. */
  readonly signal: AbortSignal
}
export type Fields = MessageInitShape<DescMessage>
/**
 * A message of the method's output type, or its fields; an iterable of them for a method that
 * streams.
 */
export type Answer = Fields | AsyncIterable<Fields>
export type Act = (call: Call) => Promise<Answer>
/** Encodes a message faster than the library. Undefined leaves it to the library. */
export type Encoder = (answer: Fields) => Uint8Array | undefined

/** The prefix of a message: whether it is compressed, and its length. */
const PREFIX_BYTES = 5
/** Largest message of Talos (constants.GRPCMaxMessageSize). */
const MAX_MESSAGE_BYTES = 32 * 1024 * 1024
const WINDOW_BYTES = 65_535
/** Largest streamed request, in bytes. */
const MAX_REQUEST_BYTES = 512 * 1024 * 1024
/** Why the signal of a call is aborted. */
const over = new ConnectError('the call has ended', Code.Canceled)
const HEADERS = { ':status': 200, 'content-type': 'application/grpc' }

/**
 * Returns a function that makes TLS servers with these services. `guard` decides about each call,
 * and answers it by `next` or otherwise. `peerOf` identifies the client of a connection; null
 * closes the connection. `encoders`: by the name of the type of the message.
 */
export const grpcServer = (
  services: readonly ServiceImplSpec[],
  guard: (call: Call, next: Act) => Promise<Answer>,
  encoders: ReadonlyMap<string, Encoder> = new Map(),
) => {
  const methods = new Map<string, MethodImplSpec>(
    services.flatMap(({ service, methods: specs }) =>
      Object.values(specs).map(
        (spec) => [`/${service.typeName}/${spec.method.name}`, spec] as const,
      ),
    ),
  )

  const encode = (schema: DescMessage, answer: Fields): Uint8Array =>
    encoders.get(schema.typeName)?.(answer) ?? toBinary(schema, create(schema, answer))

  /**
   * `isHeldBack`: the client may send only the headers of a call until the server has answered (the
   * fault `early-answer`). A call whose request is always empty is answered before the request
   * arrives.
   */
  const answer = async (
    stream: ServerHttp2Stream,
    header: IncomingHttpHeaders,
    peer: Peer,
    isHeldBack: boolean,
  ): Promise<void> => {
    let isWhole = false
    const ended = new AbortController()
    stream.on('error', () => undefined)
    stream.once('end', () => (isWhole = true))
    stream.once('close', () => ended.abort(over))
    const act = async (): Promise<void> => {
      const path = header[':path'] ?? ''
      const spec = methods.get(path)
      if (spec?.kind === 'client_streaming') {
        const { method, impl } = spec
        const call = { method, header, message: create(method.input), peer, signal: ended.signal }
        const answer = await guard(call, async (allowed) =>
          impl(messagesOf(stream, method.input), contextOf(allowed)),
        )
        return send(stream, encode(method.output, answer as Fields))
      }
      if (spec?.kind !== 'unary' && spec?.kind !== 'server_streaming') throw unknown(path, services)
      const { method, impl } = spec
      const isAnsweredAtOnce = isHeldBack && method.input.typeName === EmptySchema.typeName
      if (isAnsweredAtOnce) stream.resume()
      else if (isHeldBack) letThrough(stream)
      const message = fromBinary(
        method.input,
        isAnsweredAtOnce ? new Uint8Array() : await firstMessage(stream),
      )
      const answer = await guard(
        { method, header, message, peer, signal: ended.signal },
        async (call) => impl(call.message, contextOf(call)),
      )
      if (isStream(answer))
        for await (const one of answer) await send(stream, encode(method.output, one))
      else await send(stream, encode(method.output, answer))
    }
    const status = await act().then(() => ({ 'grpc-status': '0' }), statusOf)
    end(stream, status, () => {
      // Forwarded calls come from the simulator's own client, which always ends its requests.
      if (!isWhole && !stream.destroyed && header.proxyfrom === undefined)
        stream.close(constants.NGHTTP2_NO_ERROR)
    })
  }

  return (tls: SecureServerOptions, peerOf: (session: Peer['session']) => Peer | null) => {
    const server = createSecureServer(tls)
    server.on('session', (session) => {
      session.on('error', () => undefined)
      const peer = peerOf(session)
      if (!peer) return session.destroy()
      const isHeldBack = peer.machine.disk.state.faults.some(({ kind }) => kind === 'early-answer')
      if (isHeldBack) session.settings({ initialWindowSize: 0 })
      session.on('stream', (stream, header) => void answer(stream, header, peer, isHeldBack))
    })
    for (const failure of ['sessionError', 'tlsClientError']) server.on(failure, () => undefined)
    return server
  }
}

/** The part of the library's context that the services use. */
const contextOf = ({ peer, signal }: Call): HandlerContext =>
  ({ values: createContextValues().set(PEER, peer), signal }) as HandlerContext

const isStream = (answer: Answer): answer is AsyncIterable<Fields> => Symbol.asyncIterator in answer

/** The error for an unknown call, as in grpc-go (server.go, handleStream). */
const unknown = (path: string, services: readonly ServiceImplSpec[]): ConnectError => {
  const [, service = '', method = ''] = path.split('/')
  const isKnown = services.some(({ service: { typeName } }) => typeName === service)
  return new ConnectError(
    isKnown ? `unknown method ${method} for service ${service}` : `unknown service ${service}`,
    Code.Unimplemented,
  )
}

const statusOf = (error: unknown): Record<string, string> => {
  const { code, rawMessage } =
    error instanceof ConnectError ? error : new ConnectError('internal error', Code.Internal)
  return { 'grpc-status': String(code), 'grpc-message': encodeURIComponent(rawMessage) }
}

/**
 * Writes a message. Messages that are ready at the same time become one write. Rejects if the
 * stream closes before a slow client has read it.
 */
const send = async (stream: ServerHttp2Stream, message: Uint8Array): Promise<void> => {
  if (stream.closed || stream.destroyed) throw over
  if (!stream.headersSent) stream.respond(HEADERS, { waitForTrailers: true })
  if (stream.writableCorked === 0) {
    stream.cork()
    process.nextTick(() => stream.uncork())
  }
  const bytes = Buffer.allocUnsafe(PREFIX_BYTES + message.length)
  bytes[0] = 0
  bytes.writeUInt32BE(message.length, 1)
  bytes.set(message, PREFIX_BYTES)
  if (!stream.write(bytes)) await Promise.race([once(stream, 'drain'), once(stream, 'close')])
}

/**
 * Ends the response. The status is in the headers if there was no message. `reset` is called later,
 * because it discards everything that isn't sent yet.
 */
const end = (
  stream: ServerHttp2Stream,
  status: Record<string, string>,
  reset: () => void,
): void => {
  if (stream.destroyed || stream.closed) return
  if (!stream.headersSent) {
    stream.respond({ ...HEADERS, ...status }, { endStream: true })
    setImmediate(reset)
    return
  }
  stream.once('wantTrailers', () => {
    stream.sendTrailers(status)
    setImmediate(reset)
  })
  stream.end()
}

/** Lets the request of one call through on a connection that holds requests back. */
const letThrough = (stream: ServerHttp2Stream): void => {
  const { session } = stream
  session?.settings({ initialWindowSize: WINDOW_BYTES })
  stream.once(
    'end',
    () => void (session?.destroyed === false && session.settings({ initialWindowSize: 0 })),
  )
}

/**
 * The messages of a streamed request. Rejects if the client disconnects before the end of the
 * stream.
 */
async function* messagesOf<Desc extends DescMessage>(
  stream: ServerHttp2Stream,
  schema: Desc,
): AsyncGenerator<MessageShape<Desc>> {
  const content = await wholeRequest(stream)
  for (let at = 0; at < content.length;) {
    const end = at + PREFIX_BYTES + content.readUInt32BE(at + 1)
    if (end > content.length) throw new ConnectError('unexpected EOF', Code.Internal)
    yield fromBinary(schema, content.subarray(at + PREFIX_BYTES, end))
    at = end
  }
}

const wholeRequest = (stream: ServerHttp2Stream): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    stream.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size > MAX_REQUEST_BYTES)
        reject(new ConnectError('the request is too large', Code.ResourceExhausted))
      else chunks.push(chunk)
    })
    stream.once('end', () => resolve(Buffer.concat(chunks)))
    stream.once('close', () => reject(over))
  })

/**
 * The bytes of the first message of a request. Later bytes are discarded. Rejects if the request
 * ends before.
 */
const firstMessage = (stream: ServerHttp2Stream): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    let chunks: Buffer[] | undefined = []
    let length = 0
    let wanted = PREFIX_BYTES
    stream.on('data', (chunk: Buffer) => {
      if (chunks === undefined) return
      chunks.push(chunk)
      length += chunk.length
      if (length < wanted) return
      const bytes = chunks.length === 1 ? chunk : Buffer.concat(chunks)
      wanted = PREFIX_BYTES + bytes.readUInt32BE(1)
      chunks =
        length < wanted && bytes[0] === 0 && wanted <= MAX_MESSAGE_BYTES ? [bytes] : undefined
      if (chunks) return
      if (bytes[0] !== 0)
        reject(new ConnectError('grpc: Decompressor is not installed', Code.Unimplemented))
      else if (wanted > MAX_MESSAGE_BYTES)
        reject(
          new ConnectError(
            `grpc: received message larger than max (${wanted} vs. ${MAX_MESSAGE_BYTES})`,
            Code.ResourceExhausted,
          ),
        )
      else resolve(bytes.subarray(PREFIX_BYTES, wanted))
    })
    const fail = (): void => {
      if (chunks !== undefined)
        reject(new ConnectError('the request has no whole message', Code.Internal))
    }
    stream.once('end', fail).once('close', fail)
  })
