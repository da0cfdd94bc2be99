/** What other code may call of the live stream, and the hash chain of the audit log. */
import type { UserCaller } from '../../http/caller.ts'

export type { AuditFields, Chain } from './chain.ts'
export { eventChannel } from './publisher.ts'
export { keyedHash, openChain, unkeyedHash } from './chain.ts'

export interface Events {
  /**
   * Server-sent events after `lastId`, or from now on. A reader that is too slow, or that requests
   * deleted events, gets `resync` and refetches its data. The stream ends if the database is
   * unavailable.
   * @throws Problem unavailable if the database is unavailable
   */
  readonly stream: (
    caller: UserCaller,
    lastId: number | undefined,
    signal: AbortSignal,
  ) => AsyncGenerator<string>
  /**
   * Number of the newest event that this process has sent to its readers; undefined before `open`.
   * A page that gets this number resumes after it.
   */
  readonly last: () => number | undefined
  /** Begins to read new events. */
  readonly open: () => Promise<void>
  readonly close: () => void
}

/** Numbers events after their commit and publishes them. */
export interface Publisher {
  /**
   * Publishes everything in the outbox and returns the number of rows. After `start`, runs whenever
   * there are new rows; tests call it directly.
   */
  readonly publish: () => Promise<number>
  readonly start: () => void
  readonly stop: () => Promise<void>
}
