/** What other code may call of the history. Entries are written by `happened` of `history.ts`. */
import type { HistoryDigest } from '#contract/history/digest.ts'
import type { Tx } from '../../db/db.ts'
import type { UserCaller } from '../../http/caller.ts'
import type { SimulatedEntry } from './store-simulated.ts'
import type { Known, Past } from './moment.ts'
import type { States } from './states.ts'

export type { Known, Past, SimulatedEntry, States }

export interface History {
  /** What happened since this time, and until another, to objects that the caller may read. */
  readonly digest: (caller: UserCaller, since: Date, until?: Date) => Promise<HistoryDigest>
  /**
   * What is known of a time of the past. @throws Problem bad_request for a time in the future,
   * before_history
   */
  readonly past: Past
  /** The states of everything at a time, from the history alone. */
  readonly at: (tx: Tx, at: Date) => Promise<States>
  /**
   * Adds entries that the simulation made up, marked as such, unless there are some already. Returns
   * their number.
   */
  readonly writeSimulated: (tx: Tx, entries: readonly SimulatedEntry[]) => Promise<number>
  /**
   * Removes entries that are older than the history is kept, in small batches. Returns their
   * number. After `start`, it runs by itself once an hour; tests call it directly.
   */
  readonly prune: () => Promise<number>
}
