/**
 * How a call is made: with a deadline, cancelled by the caller's signal, its failure turned into a TalosError, and what comes back counted.
 */
import { setImmediate } from 'node:timers/promises'
import { Code, ConnectError, type CallOptions as ConnectCallOptions } from '@connectrpc/connect'
import type { Metadata } from '../proto/gen/common/common_pb.ts'
import { TalosError, talosError, tooLate } from './errors.ts'
import { messageText } from './text.ts'

export interface CallOptions {
  /** Instead of the client's. */
  deadlineMs?: number | undefined
  signal?: AbortSignal | undefined
}

/** What a call needs to know of its connection. */
export interface CallContext {
  deadlineMs: number
  signal: AbortSignal | undefined
  /** Why the connection ended, once it has. */
  failure: () => unknown
  /** Aborted when the connection has ended: no call outlives it. */
  ended: AbortSignal
}

/** Makes one call with one answer. */
export async function unary<T>(context: CallContext, options: CallOptions, call: (options: ConnectCallOptions) => Promise<T>): Promise<T> {
  const timeoutMs = options.deadlineMs ?? context.deadlineMs
  try {
    return await call({ timeoutMs, signal: options.signal === undefined ? context.ended : AbortSignal.any([context.ended, options.signal]) })
  } catch (error) {
    throw await failureOf(error, context, options)
  }
}

export interface StreamBounds {
  /** Milliseconds until the stream must have ended; none for one that is followed. */
  untilMs?: number | undefined
  /** Milliseconds until something must have come; for streams whose first message comes at once. */
  firstWithinMs?: number | undefined
}

/**
 * The messages of one stream. Leaving the loop early ends the call. There is no more in memory than the message at hand: a reader that is
 * slow slows the server down.
 */
export async function* stream<T>(
  context: CallContext,
  options: CallOptions,
  bounds: StreamBounds,
  call: (options: ConnectCallOptions) => AsyncIterable<T>,
): AsyncGenerator<T, void, undefined> {
  const own = new AbortController()
  const signal = AbortSignal.any([own.signal, context.ended, ...(options.signal === undefined ? [] : [options.signal])])
  let late: TalosError | undefined
  const first =
    bounds.firstWithinMs === undefined
      ? undefined
      : setTimeout(() => {
          late = new TalosError('timeout', tooLate(bounds.firstWithinMs!))
          own.abort()
        }, bounds.firstWithinMs)
  try {
    // 0 is the library's word for no deadline.
    for await (const message of call({ signal, timeoutMs: bounds.untilMs ?? 0 })) {
      clearTimeout(first)
      yield message
    }
  } catch (error) {
    throw late ?? (await failureOf(error, context, { ...options, deadlineMs: bounds.untilMs }))
  } finally {
    clearTimeout(first)
    own.abort()
  }
}

async function failureOf(error: unknown, context: CallContext, options: CallOptions): Promise<TalosError> {
  const timeoutMs = options.deadlineMs ?? context.deadlineMs
  if (options.signal?.aborted === true) return talosError(error, timeoutMs, options.signal)
  const answered = error instanceof ConnectError && (error.metadata.has('grpc-status') || error.code === Code.DeadlineExceeded)
  if (answered || error instanceof TalosError) return talosError(error, timeoutMs, context.signal)
  // Streams fail before their connection says why: wait for its word, which knows more (a TLS alert, the end of the connection).
  await setImmediate()
  return talosError(context.failure() ?? error, timeoutMs, context.signal)
}

/** The one element of an answer. Talos wraps each answer in a list, for calls that it spreads over several machines. */
export function one<T extends { metadata?: Metadata | undefined }>(messages: readonly T[], call: string): T {
  const [message] = messages
  if (message === undefined) throw new TalosError('invalid_data', `server sent invalid data (empty answer to ${call})`)
  refuseError(message.metadata)
  return message
}

/** A failure that stands inside an answer or a stream instead of ending it. */
export function refuseError(metadata: Metadata | undefined): void {
  if (metadata !== undefined && metadata.error !== '') throw new TalosError('other', messageText(metadata.error))
}
