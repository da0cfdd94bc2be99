/** What other code may call of the history. Entries are written by `happened` of `history.ts`. */
import type { Tx } from '../../db/db.ts'
import type { States } from './states.ts'

export type { States }

export interface History {
  /** The states of everything at a time, from the history alone. */
  readonly at: (tx: Tx, at: Date) => Promise<States>
  /**
   * Removes entries that are older than the history is kept, in small batches. Returns their
   * number. After `start`, it runs by itself once an hour; tests call it directly.
   */
  readonly prune: () => Promise<number>
}
