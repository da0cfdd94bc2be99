/** The open streams of this process: ended with their token, with their session, and at shutdown. */
import type { Clock } from '../clock.ts'
import type { Caller } from './caller.ts'

export interface OpenStream {
  readonly caller: Caller
  readonly endsAt: number | undefined
  readonly close: () => void
}

export interface Streams {
  /** Answers how to take it off again. */
  add(stream: OpenStream): () => void
  endSession(sessionId: string): void
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
  const endWhere = (over: (stream: OpenStream) => boolean) => open.forEach((stream) => over(stream) && stream.close())
  return {
    add(stream) {
      open.add(stream)
      return () => void open.delete(stream)
    },
    endSession: (sessionId) => endWhere(({ caller }) => caller.kind === 'user' && caller.sessionId === sessionId),
    sweep: () => endWhere(({ endsAt }) => endsAt !== undefined && endsAt <= clock.now()),
    endAll: () => endWhere(() => true),
    count: () => open.size,
  }
}
