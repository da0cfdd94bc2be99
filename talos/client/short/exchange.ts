/**
 * Short gRPC calls with one piece of bytes in each direction, instead of a session of Node's HTTP/2: an idle server is asked one short thing every two minutes,
 * and most of what that cost, besides TLS, were the objects of a session that is used once (docs/decisions/009-own-grpc-client.md).
 *
 * Only success and the status that nothing was found are understood, in the form in which most servers send them, grpc-go among them. Anything else gives
 * `undefined`, and the caller asks again over HTTP/2 of Node.
 */
import type { TLSSocket } from 'node:tls'
import type { DescMessage, DescMethodServerStreaming, DescMethodUnary, MessageInitShape } from '@bufbuild/protobuf'
import { TalosError, tooLate } from '../errors.ts'
import { requestOf, splitter } from '../grpc.ts'
import { beginsWith200, flags, frame, frameReader, frames, grpcStatusIn, header, opening, windowBytes } from './frames.ts'

/** A call whose request is always the same. */
export interface ShortCall {
  readonly path: string
  /** The message with its gRPC prefix. */
  readonly request: Buffer
}

export const shortCall = <I extends DescMessage, O extends DescMessage>(
  method: DescMethodUnary<I, O> | DescMethodServerStreaming<I, O>,
  request: MessageInitShape<I>,
): ShortCall => ({ path: `/${method.parent.typeName}/${method.name}`, request: requestOf(method.input, request) })

interface Bounds {
  readonly deadlineMs: number
  readonly signal?: AbortSignal | undefined
}

/** The messages of an answer; null if the server has found nothing. */
export type ShortAnswer = readonly Buffer[] | null

/** All answers together, with what surrounds them. */
const mostBytes = windowBytes / 2

/** `:method: POST` and `:scheme: https` (RFC 7541 appendix A). */
const method = Buffer.from([0x83, 0x87])
/** Indexes of names in the static table, as the first bytes of a literal without indexing. */
const names = { authority: [0x01], path: [0x04], contentType: [0x0f, 0x10] } as const
const fixed = Buffer.concat([header(names.contentType, 'application/grpc+proto'), header('te', 'trailers')])

/** Everything that the client sends: its opening and all calls. Names that begin with a colon come first (RFC 9113 §8.3). */
function requestsOf(authority: string, calls: readonly ShortCall[], deadlineMs: number): Buffer {
  const before = Buffer.concat([method, header(names.authority, authority)])
  const after = Buffer.concat([fixed, header('grpc-timeout', `${Math.ceil(deadlineMs)}m`)])
  const sent = calls.flatMap(({ path, request }, i) => [
    frame(frames.headers, flags.endHeaders, streamOf(i), Buffer.concat([before, header(names.path, path), after])),
    frame(frames.data, flags.endStream, streamOf(i), request),
  ])
  return Buffer.concat([opening, ...sent])
}

/** Clients number their streams 1, 3, 5 and so on. */
const streamOf = (index: number): number => 2 * index + 1

/** The answer to one call while it arrives. Its methods return false for anything that isn't an answer of the usual form. */
class Answer {
  readonly messages: Buffer[] = []
  readonly #parts = splitter((message) => this.messages.push(message))
  #isBegun = false
  isOver = false
  isMissing = false

  /** A server that sends no message sends its headers and its status in one block. */
  headers(flag: number, block: Buffer): boolean {
    const isWhole = (flag & (flags.endHeaders | flags.padded | flags.priority)) === flags.endHeaders
    if (!isWhole || this.isOver || !(this.#isBegun || beginsWith200(block))) return false
    const isFirst = !this.#isBegun
    this.#isBegun = true
    if ((flag & flags.endStream) === 0) return isFirst
    this.isOver = true
    const status = grpcStatusIn(block)
    this.isMissing = status === 'notFound'
    return status !== undefined && this.#parts.isEmpty()
  }

  data(flag: number, bytes: Buffer): boolean {
    if (!this.#isBegun || this.isOver || (flag & (flags.padded | flags.endStream)) !== 0) return false
    try {
      this.#parts.push(bytes)
      return true
    } catch {
      return false
    }
  }
}

/** The state of an exchange. `reply`: what the server must be told while answers are missing. */
class Answers {
  readonly all: readonly Answer[]
  reply: Buffer[] = []

  constructor(count: number) {
    this.all = Array.from({ length: count }, () => new Answer())
  }

  isComplete(): boolean {
    return this.all.every(({ isOver }) => isOver)
  }

  /** Returns false for a frame that isn't part of such answers. */
  readonly receive = (type: number, flag: number, stream: number, payload: Buffer): boolean => {
    const answer = stream % 2 === 1 ? this.all[(stream - 1) / 2] : undefined
    switch (type) {
      case frames.headers:
        return answer?.headers(flag, payload) ?? false
      case frames.data:
        return answer?.data(flag, payload) ?? false
      case frames.rstStream:
        // grpc-go may reset a stream that it has ended (see `grpc.ts`).
        return answer?.isOver ?? false
      case frames.goaway:
      case frames.pushPromise:
      case frames.continuation:
        return false
      case frames.settings:
      case frames.ping:
        if ((flag & flags.ack) === 0) this.reply.push(frame(type, flags.ack, 0, type === frames.ping ? payload : Buffer.alloc(0)))
        return true
      default:
        // Frames of other types say nothing to a client that sends nothing more, and unknown ones must be ignored (RFC 9113 §4.1).
        return true
    }
  }
}

/**
 * Makes all calls at once on a connection that was used for nothing else and is closed afterwards. Returns the answer to each call, or undefined if the server
 * answers in any other way, or closes the connection. Throws TalosError of kind `timeout` or `cancelled`.
 */
export function exchange(
  socket: TLSSocket,
  authority: string,
  calls: readonly ShortCall[],
  { deadlineMs, signal }: Bounds,
): Promise<ShortAnswer[] | undefined> {
  return new Promise((resolve, reject) => {
    const answers = new Answers(calls.length)
    const read = frameReader(answers.receive)
    let received = 0
    const settle = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', cancel)
      socket.off('data', data).off('error', giveUp).off('close', giveUp)
      socket.on('error', ignore)
    }
    const giveUp = () => {
      settle()
      resolve(undefined)
    }
    const fail = (error: TalosError) => {
      settle()
      reject(error)
    }
    const cancel = () => fail(new TalosError('cancelled', 'cancelled'))
    const data = (piece: Buffer) => {
      received += piece.length
      if (received > mostBytes || !read(piece)) return giveUp()
      if (answers.isComplete()) {
        settle()
        return resolve(answers.all.map(({ messages, isMissing }) => (isMissing ? null : messages)))
      }
      if (answers.reply.length > 0) socket.write(Buffer.concat(answers.reply.splice(0)))
    }
    const timer = setTimeout(() => fail(new TalosError('timeout', tooLate(deadlineMs))), deadlineMs)
    socket.on('data', data).on('error', giveUp).on('close', giveUp)
    if (signal?.aborted === true) return cancel()
    signal?.addEventListener('abort', cancel)
    socket.write(requestsOf(authority, calls, deadlineMs))
  })
}

const ignore = (): void => undefined
