/** Calls with a deadline, the caller's abort signal, errors as TalosError, and a limit on the size of answers. */
import { setImmediate } from 'node:timers/promises'
import { Code, ConnectError, type CallOptions as ConnectCallOptions } from '@connectrpc/connect'
import type { Metadata } from '../proto/gen/common/common_pb.ts'
import { TalosError, talosError, tooLate } from './errors.ts'
import { messageText } from './text.ts'

// Bounds of everything that a server sends, because servers are not trusted.

/** Elements of a list that a server says about itself. */
export const maxItems = 1024
/** Elements of a list that are looked at for those that are kept; pods make links by the thousand. */
export const maxScanned = 65_536
/** Bytes of one message; Talos itself allows 32 MiB, nothing that we read comes near this. */
export const maxMessageBytes = 4 * 1024 * 1024
/** Bytes of all messages of one list. */
export const maxListBytes = 1024 * 1024

/** A count or size as a number; a value that no machine has is an error that names the field. */
export function count(value: bigint | number, field: string): number {
  const number = Number(value)
  if (!Number.isSafeInteger(number) || number < 0) throw new TalosError('invalid_data', `server sent invalid data (${field})`)
  return number
}

export interface CallOptions {
  /** Instead of the client's. */
  deadlineMs?: number | undefined
  signal?: AbortSignal | undefined
}

/** The connection of a call. */
export interface CallContext {
  deadlineMs: number
  signal: AbortSignal | undefined
  /** Why the connection ended, or undefined. */
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
  /** Milliseconds until the stream must end. None for a stream that is followed. */
  untilMs?: number | undefined
  /** Milliseconds until the first message, for streams that send one at once. */
  firstWithinMs?: number | undefined
}

/**
 * The messages of a stream. Leaving the loop ends the call. Only the current message is in memory; a slow reader slows the server
 * down.
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
    // 0 means no deadline to the library.
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
  // A stream fails before its connection does. Wait for the connection's error, which says more (such as a TLS alert).
  await setImmediate()
  return talosError(context.failure() ?? error, timeoutMs, context.signal)
}

/** The single element of an answer. Talos wraps answers in a list, for calls that it forwards to several machines. */
export function one<T extends { metadata?: Metadata | undefined }>(messages: readonly T[], call: string): T {
  const [message] = messages
  if (message === undefined) throw new TalosError('invalid_data', `server sent invalid data (empty answer to ${call})`)
  refuseError(message.metadata)
  return message
}

/** An error inside an answer or a stream. */
export function refuseError(metadata: Metadata | undefined): void {
  if (metadata !== undefined && metadata.error !== '') throw new TalosError('other', messageText(metadata.error))
}
