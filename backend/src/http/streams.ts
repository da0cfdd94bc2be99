/**
 * Streamed responses: live events, logs. A stream ends with its access token, with its session, and
 * at shutdown.
 */
import { once } from 'node:events'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Problem } from '#contract/errors.ts'
import { apiTokenOver } from '#contract/people/api-tokens.ts'
import type { Clock } from '../clock.ts'
import type { Caller, UserCaller } from './caller.ts'
import { limitsItself } from './load/sockets.ts'

interface OpenStream {
  readonly caller: Caller
  /**
   * Source address for limits; undefined if the address is shared by many users: loopback, a
   * trusted proxy.
   */
  readonly source: string | undefined
  readonly endsAt: number | undefined
  readonly close: () => void
}

/** Open streams per user. A browser uses one for all its tabs, and one for each open log. */
const mostOfOne = 50
/** Open streams per source (an address, or an IPv6 /64), which may be an office with many users. */
const mostOfSource = 250
/**
 * How long an ended session is remembered: longer than the time between the check of a request's
 * token and the start of its stream.
 */
const endedKeptMs = 60_000

export type Streams = ReturnType<typeof streams>

declare module 'fastify' {
  interface FastifyInstance {
    streams: Streams
  }
}

export function streams(clock: Clock) {
  const open = new Set<OpenStream>()
  const ended = new Map<string, number>()
  const endWhere = (over: (stream: OpenStream) => boolean) =>
    open.forEach((stream) => over(stream) && stream.close())
  const count = (which: (stream: OpenStream) => boolean): number => [...open].filter(which).length
  return {
    /**
     * Adds a stream; returns a function that removes it.
     * @throws Problem throttled if the user or the source has too many open streams, which would
     * leave no socket for anybody else; session_expired if the session has ended since the
     * request's token was checked
     */
    add(stream: OpenStream): () => void {
      const { caller, source } = stream
      if (caller.kind === 'user') {
        if (ended.has(caller.sessionId))
          throw new Problem(
            'session_expired',
            caller.isToken ? apiTokenOver : 'Session expired. Please sign in again.',
          )
        if (
          count((other) => other.caller.kind === 'user' && other.caller.userId === caller.userId) >=
          mostOfOne
        )
          throw new Problem(
            'throttled',
            'You have too many live views open. Close some and try again.',
          )
      }
      if (source !== undefined && count((other) => other.source === source) >= mostOfSource)
        throw new Problem(
          'throttled',
          'Too many live views are open from this address. Close some and try again.',
        )
      open.add(stream)
      return () => void open.delete(stream)
    },
    endSession(sessionId: string): void {
      ended.set(sessionId, clock.now())
      endWhere(({ caller }) => caller.kind === 'user' && caller.sessionId === sessionId)
    },
    /** The signed-in callers of open streams. */
    callers: (): UserCaller[] => [
      ...new Set([...open].flatMap(({ caller }) => (caller.kind === 'user' ? [caller] : []))),
    ],
    /**
     * Ends the streams of these callers. They may open new ones, because their sessions may still
     * be valid with fewer rights.
     */
    endOf: (callers: readonly UserCaller[]) =>
      endWhere(({ caller }) => caller.kind === 'user' && callers.includes(caller)),
    /** Ends streams whose token has expired; called about every second. */
    sweep(): void {
      const now = clock.now()
      for (const [id, at] of ended) if (now - at > endedKeptMs) ended.delete(id)
      endWhere(({ endsAt }) => endsAt !== undefined && endsAt <= now)
    },
    endAll: () => endWhere(() => true),
    count: () => open.size,
  }
}

export type StreamPart = string | Uint8Array

type Open = (signal: AbortSignal) => AsyncIterable<StreamPart> | Promise<AsyncIterable<StreamPart>>
interface StreamOptions {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly type: string
  /** How long the client may read nothing before its connection is cut. */
  readonly stalledMs: number
  /**
   * The response is a file: if it can't be completed, or is stopped before its end, the connection
   * is cut, so that the client doesn't take a part for the whole.
   */
  readonly isWhole: boolean
  readonly open: Open
}

/**
 * Opens the source and copies it to the socket, without buffering more than the socket accepts.
 * Errors of `open` are rethrown and become an error response; later errors end the stream.
 */
export async function sendStream({
  request,
  reply,
  type,
  stalledMs,
  isWhole,
  open,
}: StreamOptions): Promise<void> {
  const stop = new AbortController()
  const end = request.server.streams.add({
    caller: request.caller,
    source: request.source,
    endsAt: request.tokenEndsAt,
    close: () => stop.abort(new Error('The stream has ended')),
  })
  const { raw } = reply
  let isOver = false
  try {
    const source = await open(stop.signal)
    const parts = source[Symbol.asyncIterator]()
    // Waits for the first part, because an exception before it becomes an error response.
    let part = await parts.next()
    const headers = reply.getHeaders()
    reply.hijack()
    raw.writeHead(200, { ...headers, 'content-type': type, 'x-accel-buffering': 'no' } as Record<
      string,
      string
    >)
    raw.flushHeaders()
    limitsItself(raw)
    raw.once('close', () => stop.abort(new Error('The client has disconnected')))
    while (!part.done && !stop.signal.aborted) {
      if (!raw.write(part.value)) await drained(raw, stop.signal, stalledMs)
      part = await parts.next()
    }
    // A source that was told to stop may return as if it had ended.
    isOver = part.done === true && !stop.signal.aborted
    await parts.return?.()
  } catch (error) {
    if (!raw.headersSent) throw error
  } finally {
    end()
    if (raw.headersSent) {
      if (isWhole && !isOver) raw.destroy()
      else raw.end()
    }
  }
}

/**
 * Resolves when the socket has accepted all data or `signal` is aborted. Cuts the connection if
 * this takes too long.
 */
async function drained(
  raw: FastifyReply['raw'],
  signal: AbortSignal,
  withinMs: number,
): Promise<void> {
  const timer = setTimeout(() => raw.destroy(), withinMs)
  await once(raw, 'drain', { signal }).catch(() => undefined)
  clearTimeout(timer)
}
