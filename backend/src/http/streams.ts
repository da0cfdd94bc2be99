/** The open streams of this process: ended with their token, with their session, and at shutdown. */
import { Problem } from '#contract/errors.ts'
import type { Clock } from '../clock.ts'
import type { Caller, UserCaller } from './caller.ts'

export interface OpenStream {
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
  const count = (which: (stream: OpenStream) => boolean): number => {
    let counted = 0
    for (const stream of open) if (which(stream)) counted++
    return counted
  }
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
