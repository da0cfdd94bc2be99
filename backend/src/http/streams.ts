/** The open streams of this process: ended with their token, with their session, and at shutdown. */
import { Problem } from '#contract/errors.ts'
import type { Clock } from '../clock.ts'
import type { Caller, UserCaller } from './caller.ts'

export interface OpenStream {
  readonly caller: Caller
  /** Address by which the stream is counted; undefined for one that stands for many people: loopback, a trusted proxy. */
  readonly source: string | undefined
  readonly endsAt: number | undefined
  readonly close: () => void
}

/** Open at once for one person. A browser reads one for all its tabs, and one per log that is looked at. */
const mostOfOne = 50
/** From one source, an address or an IPv6 /64, behind which an office may have many people. */
const mostOfSource = 250
/** How long an ended session is remembered: longer than a request takes from the look at its token to its stream. */
const endedKeptMs = 60_000

export interface Streams {
  /**
   * Answers how to take it off again.
   * @throws Problem throttled where the person has too many already: a thousand of them would leave no socket for anybody else; session_expired where
   * the session ended since the request's token was looked at
   */
  add(stream: OpenStream): () => void
  endSession(sessionId: string): void
  /** The signed-in callers whose streams are open. */
  callers(): UserCaller[]
  /** Ends the streams of these callers. Their sessions may stand, with less than they held: they may open others. */
  endOf(callers: readonly UserCaller[]): void
  /** Ends what is past its token; called every second or so. */
  sweep(): void
  endAll(): void
  count(): number
}

declare module 'fastify' {
  interface FastifyInstance {
    streams: Streams
  }
}

export function streams(clock: Clock): Streams {
  const open = new Set<OpenStream>()
  const ended = new Map<string, number>()
  const endWhere = (over: (stream: OpenStream) => boolean) => open.forEach((stream) => over(stream) && stream.close())
  const count = (which: (stream: OpenStream) => boolean): number => {
    let counted = 0
    for (const stream of open) if (which(stream)) counted++
    return counted
  }
  return {
    add(stream) {
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
    endSession(sessionId) {
      ended.set(sessionId, clock.now())
      endWhere(({ caller }) => caller.kind === 'user' && caller.sessionId === sessionId)
    },
    callers: () => [...new Set([...open].flatMap(({ caller }) => (caller.kind === 'user' ? [caller] : [])))],
    endOf: (callers) => endWhere(({ caller }) => caller.kind === 'user' && callers.includes(caller)),
    sweep() {
      const now = clock.now()
      for (const [id, at] of ended) if (now - at > endedKeptMs) ended.delete(id)
      endWhere(({ endsAt }) => endsAt !== undefined && endsAt <= now)
    },
    endAll: () => endWhere(() => true),
    count: () => open.size,
  }
}
