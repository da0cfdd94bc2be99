/**
 * gRPC on an open HTTP/2 session (github.com/grpc/grpc, `doc/PROTOCOL-HTTP2.md`): a call sends one
 * message and receives one or many.
 *
 * Written here, because Steelyard makes very many short calls. With a general library, in which
 * each message passes ten asynchronous iterators, gRPC took more processor time than TLS, HTTP/2
 * and protobuf together (docs/decisions/009-own-grpc-client.md).
 *
 * grpc-go ends a call with RST_STREAM(NO_ERROR) if it writes its trailers before it reads our
 * END_STREAM (`internal/transport/http2_server.go`: `finishStream` with `rst`). The response is
 * complete then and must not be discarded (RFC 9113 §8.1). So reading begins at once, and the
 * request is sent together with its end, which leaves most servers no reason for the reset.
 */
import { once } from 'node:events'
import {
  type ClientHttp2Stream,
  constants,
  type IncomingHttpHeaders,
  type IncomingHttpStatusHeader,
  type OutgoingHttpHeaders,
} from 'node:http2'
import {
  create,
  type DescMessage,
  type DescMethodClientStreaming,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf'
import { decoded } from './decode.ts'
import { GrpcStatus, TalosError } from './errors.ts'
import { lateBy } from '#contract/connections/causes.ts'

/**
 * Opens a stream with the headers of a request. @throws the reason why the connection has ended, if
 * it has
 */
export type OpenStream = (headers: OutgoingHttpHeaders) => ClientHttp2Stream

interface CallBounds {
  /** Milliseconds until the call must have ended; undefined: no limit. */
  readonly timeoutMs: number | undefined
  /** Aborting any of these signals ends the call. */
  readonly signals: readonly AbortSignal[]
}

type Method<I extends DescMessage, O extends DescMessage> =
  | DescMethodClientStreaming<I, O>
  | DescMethodUnary<I, O>
  | DescMethodServerStreaming<I, O>

interface Receiver {
  message: (bytes: Buffer) => void
  /** Called once: with the error, or with undefined if the server reported success. */
  end: (error: unknown) => void
}

/**
 * Maximum bytes of one message. Talos itself allows 32 MiB; the messages that we read are far
 * smaller than this limit.
 */
const maxMessageBytes = 4 * 1024 * 1024
/**
 * Above this number of unread bytes of messages, no more is read from the server until the reader
 * has caught up.
 */
const mostUnreadBytes = 64 * 1024
const prefixBytes = 5
const invalid = (what: string, cause?: unknown) =>
  new TalosError('invalid_data', `server sent invalid data (${what})`, { cause })
/**
 * An error for a missing response. The reason is only in `cause`, because the connection may have a
 * more precise one.
 */
const unanswered = () =>
  new Error('No answer', {
    cause: new TalosError('unavailable', 'the server ended the call without an answer'),
  })
const prematureClose = () =>
  Object.assign(new Error('Premature close'), { code: 'ERR_STREAM_PREMATURE_CLOSE' })

/**
 * Splits a response into messages. @throws TalosError for a compressed message (a few bytes could
 * become gigabytes) or one that is too large
 */
function splitter(message: (bytes: Buffer) => void) {
  let chunks: Buffer[] = []
  let length = 0
  return {
    push(chunk: Buffer): void {
      chunks.push(chunk)
      length += chunk.length
      while (length >= prefixBytes) {
        if (chunks[0]!.length < prefixBytes) chunks = [Buffer.concat(chunks)]
        if (chunks[0]![0] !== 0) throw invalid('compressed message')
        const size = chunks[0]!.readUInt32BE(1)
        if (size > maxMessageBytes) throw invalid(`message of ${size} bytes`)
        const end = prefixBytes + size
        if (length < end) return
        const all = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)
        message(all.subarray(prefixBytes, end))
        length -= end
        chunks = length === 0 ? [] : [all.subarray(end)]
      }
    },
    isEmpty: () => length === 0,
  }
}

/** The status of trailers: null for success, undefined if they have none. */
function statusOf(headers: IncomingHttpHeaders): GrpcStatus | null | undefined {
  const code = headers['grpc-status']
  if (code === undefined) return undefined
  if (code === '0') return null
  const text = String(headers['grpc-message'] ?? '')
  try {
    return new GrpcStatus(Number(code), decodeURIComponent(text))
  } catch {
    return new GrpcStatus(Number(code), text)
  }
}

function demandGrpc(headers: IncomingHttpHeaders & IncomingHttpStatusHeader): void {
  if (headers[':status'] !== 200) throw invalid(`HTTP status ${headers[':status']}`)
  if (!/^application\/grpc(\+proto)?(;|$)/.test(headers['content-type'] ?? ''))
    throw invalid('content type')
  if ((headers['grpc-encoding'] ?? 'identity') !== 'identity') throw invalid('compressed answer')
}

function requestOf<I extends DescMessage>(input: I, request: MessageInitShape<I>): Buffer {
  const message = toBinary(input, create(input, request))
  const bytes = Buffer.allocUnsafe(prefixBytes + message.length)
  bytes[0] = 0
  bytes.writeUInt32BE(message.length, 1)
  bytes.set(message, prefixBytes)
  return bytes
}

function begin<I extends DescMessage, O extends DescMessage>(
  open: OpenStream,
  method: Method<I, O>,
  body: Buffer | undefined,
  { timeoutMs, signals }: CallBounds,
  receiver: Receiver,
): ClientHttp2Stream {
  const stream = open({
    ':method': 'POST',
    ':path': `/${method.parent.typeName}/${method.name}`,
    'content-type': 'application/grpc+proto',
    te: 'trailers',
    ...(timeoutMs !== undefined && { 'grpc-timeout': `${Math.ceil(timeoutMs)}m` }),
  })
  let status: GrpcStatus | null | undefined
  let isAnswered = false
  let isOver = false
  const messages = splitter((bytes) => receiver.message(bytes))
  const over = (error: unknown): void => {
    if (isOver) return
    isOver = true
    clearTimeout(timer)
    for (const signal of signals) signal.removeEventListener('abort', cancel)
    if (error !== null && !stream.destroyed) stream.close(constants.NGHTTP2_CANCEL)
    receiver.end(error ?? undefined)
  }
  const cancel = () => over(prematureClose())
  const timer =
    timeoutMs === undefined
      ? undefined
      : setTimeout(() => over(new TalosError('timeout', lateBy(timeoutMs))), timeoutMs)
  const guarded =
    <T>(act: (value: T) => void) =>
    (value: T): void => {
      if (isOver) return
      try {
        act(value)
      } catch (error) {
        over(error)
      }
    }
  stream.on(
    'response',
    guarded((headers: IncomingHttpHeaders & IncomingHttpStatusHeader) => {
      isAnswered = true
      demandGrpc(headers)
      status = statusOf(headers)
    }),
  )
  stream.on(
    'trailers',
    guarded((headers: IncomingHttpHeaders) => (status ??= statusOf(headers))),
  )
  stream.on(
    'data',
    guarded((chunk: Buffer) => messages.push(chunk)),
  )
  stream.on('end', () => {
    if (status === undefined) over(isAnswered ? invalid('no status') : unanswered())
    else if (status === null && !messages.isEmpty()) over(invalid('half a message'))
    else over(status)
  })
  stream.on('error', over)
  stream.on('close', () => {
    if (!isOver) over(isAnswered ? prematureClose() : unanswered())
    // Until a major garbage collection, V8 keeps the native part of a closed stream with everything
    // that its listeners refer to.
    stream.removeAllListeners()
  })
  for (const signal of signals) {
    if (signal.aborted) cancel()
    else signal.addEventListener('abort', cancel)
  }
  // Without a body the caller writes the messages.
  if (!isOver && body !== undefined) stream.end(body)
  return stream
}

/** @throws TalosError if the bytes are no such message, or are too many */
export function decode<O extends DescMessage>(output: O, bytes: Buffer): MessageShape<O> {
  try {
    return decoded(output, bytes)
  } catch (error) {
    throw invalid(output.name, error)
  }
}

/**
 * Passes the bytes of each message of the response to `receive` as soon as they have arrived. If
 * `receive` returns false, the call ends. Rejects with GrpcStatus if the server reports an error,
 * or with the error of the connection or of `receive`.
 */
export function callEach<I extends DescMessage, O extends DescMessage>(
  open: OpenStream,
  method: Method<I, O>,
  request: MessageInitShape<I>,
  bounds: CallBounds,
  receive: (bytes: Buffer) => boolean,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let isEnough = false
    const stream = begin(open, method, requestOf(method.input, request), bounds, {
      message: (bytes) => {
        if (isEnough || receive(bytes)) return
        isEnough = true
        stream.close(constants.NGHTTP2_CANCEL)
      },
      end: (error) => (error === undefined || isEnough ? resolve() : reject(error)),
    })
  })
}

/**
 * Streams the messages of `source` and returns the single response. Backpressure of the server
 * applies to the source. If the server answers before the end, the rest isn't read. Rejects like
 * `callEach`, or with the error of `source`, which ends the call.
 */
export async function callUpload<I extends DescMessage, O extends DescMessage>(
  open: OpenStream,
  method: DescMethodClientStreaming<I, O>,
  source: AsyncIterable<MessageInitShape<I>>,
  bounds: CallBounds,
): Promise<MessageShape<O>> {
  const answers: MessageShape<O>[] = []
  const { promise: over, resolve, reject } = Promise.withResolvers<void>()
  over.catch(() => undefined)
  let isOver = false
  const stream = begin(open, method, undefined, bounds, {
    message: (bytes) => answers.push(decode(method.output, bytes)),
    end: (error) => {
      isOver = true
      if (error === undefined) resolve()
      else reject(error)
    },
  })
  try {
    for await (const message of source) {
      if (isOver) break
      if (!stream.write(requestOf(method.input, message)))
        await Promise.race([once(stream, 'drain'), over])
    }
    if (!isOver) stream.end()
  } catch (error) {
    if (!isOver) stream.close(constants.NGHTTP2_CANCEL)
    throw error
  }
  await over
  if (answers.length !== 1) throw invalid(`${answers.length} messages`)
  return answers[0]!
}

/**
 * The messages of the response. Leaving the loop over them ends the call; a slow reader slows the
 * server down. Throws like `callEach`.
 */
export async function* callStream<I extends DescMessage, O extends DescMessage>(
  open: OpenStream,
  method: DescMethodServerStreaming<I, O>,
  request: MessageInitShape<I>,
  bounds: CallBounds,
): AsyncGenerator<MessageShape<O>, void, undefined> {
  let waiting: Buffer[] = []
  let unreadBytes = 0
  let ended: { readonly error: unknown } | undefined
  let changed = Promise.withResolvers<void>()
  const stream = begin(open, method, requestOf(method.input, request), bounds, {
    message: (bytes) => {
      waiting.push(bytes)
      unreadBytes += bytes.length
      if (unreadBytes > mostUnreadBytes) stream.pause()
      changed.resolve()
    },
    end: (error) => {
      ended = { error }
      changed.resolve()
    },
  })
  try {
    for (;;) {
      const received = waiting
      waiting = []
      for (const bytes of received) {
        yield decode(method.output, bytes)
        unreadBytes -= bytes.length
      }
      if (waiting.length > 0) continue
      if (ended?.error !== undefined) throw ended.error
      if (ended) return
      changed = Promise.withResolvers()
      stream.resume()
      await changed.promise
    }
  } finally {
    if (!ended) stream.close(constants.NGHTTP2_CANCEL)
  }
}
