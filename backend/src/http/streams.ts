/** Long answers, part by part: live events, logs. They are ended with their token, with their session, and at shutdown. */
import { once } from 'node:events'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Problem } from '#contract/errors.ts'
import type { Clock } from '../clock.ts'
import type { Caller, UserCaller } from './caller.ts'

interface OpenStream {
  readonly caller: Caller
  /** Source address for limits; undefined if it stands for many users: loopback, a trusted proxy. */
  readonly source: string | undefined
  readonly endsAt: number | undefined
  readonly close: () => void
}

/** Open streams of one person. A browser uses one for all its tabs, and one for each open log. */
const mostOfOne = 50
/** From one source, an address or an IPv6 /64, behind which an office may have many people. */
const mostOfSource = 250
/** How long an ended session is remembered: longer than a request takes from the check of its token to its stream. */
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
  const endWhere = (over: (stream: OpenStream) => boolean) => open.forEach((stream) => over(stream) && stream.close())
  const count = (which: (stream: OpenStream) => boolean): number => [...open].filter(which).length
  return {
    /**
     * Adds a stream; answers how to remove it.
     * @throws Problem throttled where the person or the source has too many already: a thousand of them would leave no socket for anybody else;
     * session_expired where the session ended since the request's token was checked
     */
    add(stream: OpenStream): () => void {
      const { caller, source } = stream
      if (caller.kind === 'user') {
        if (ended.has(caller.sessionId)) throw new Problem('session_expired', 'Session expired. Please sign in again.')
        if (count((other) => other.caller.kind === 'user' && other.caller.userId === caller.userId) >= mostOfOne)
          throw new Problem('throttled', 'You have too many live views open. Close some and try again.')
      }
      if (source !== undefined && count((other) => other.source === source) >= mostOfSource)
        throw new Problem('throttled', 'Too many live views are open from this address. Close some and try again.')
      open.add(stream)
      return () => void open.delete(stream)
    },
    endSession(sessionId: string): void {
      ended.set(sessionId, clock.now())
      endWhere(({ caller }) => caller.kind === 'user' && caller.sessionId === sessionId)
    },
    /** The signed-in callers whose streams are open. */
    callers: (): UserCaller[] => [...new Set([...open].flatMap(({ caller }) => (caller.kind === 'user' ? [caller] : [])))],
    /** Ends the streams of these callers. Their sessions may still be open with fewer rights, so they may open others. */
    endOf: (callers: readonly UserCaller[]) => endWhere(({ caller }) => caller.kind === 'user' && callers.includes(caller)),
    /** Ends streams whose token is over; called every second or so. */
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
/** `stalledMs`: how long the reader may take nothing before its connection is cut. */
type StreamOptions = { readonly request: FastifyRequest; readonly reply: FastifyReply; readonly type: string; readonly stalledMs: number; readonly open: Open }

/** Opens the source and copies it to the socket, keeping no more than what the socket takes. What `open` throws is thrown on, so that it is answered as an error; later errors end the stream. */
export async function sendStream({ request, reply, type, stalledMs, open }: StreamOptions): Promise<void> {
  const stop = new AbortController()
  const end = request.server.streams.add({
    caller: request.caller,
    source: request.source,
    endsAt: request.tokenEndsAt,
    close: () => stop.abort(new Error('The stream has ended')),
  })
  const { raw } = reply
  try {
    const source = await open(stop.signal)
    const parts = source[Symbol.asyncIterator]()
    // The first part decides whether this is an answer or an error.
    let part = await parts.next()
    const headers = reply.getHeaders()
    reply.hijack()
    raw.writeHead(200, { ...headers, 'content-type': type, 'x-accel-buffering': 'no' } as Record<string, string>)
    raw.flushHeaders()
    raw.once('close', () => stop.abort(new Error('The client went away')))
    while (!part.done && !stop.signal.aborted) {
      if (!raw.write(part.value)) await drained(raw, stop.signal, stalledMs)
      part = await parts.next()
    }
    await parts.return?.()
  } catch (error) {
    if (!raw.headersSent) throw error
  } finally {
    end()
    if (raw.headersSent) raw.end()
  }
}

/** Resolves when the socket has taken all, or `signal` is aborted; a socket that takes too long is cut. */
async function drained(raw: FastifyReply['raw'], signal: AbortSignal, withinMs: number): Promise<void> {
  const timer = setTimeout(() => raw.destroy(), withinMs)
  await once(raw, 'drain', { signal }).catch(() => undefined)
  clearTimeout(timer)
}
