/** What other domains may call of stores: places outside of Steelyard for its files. */
import type { Db, Tx } from '../../db/db.ts'
import type { ObjectStore } from './object-store.ts'

export { type ObjectStore, StoreError } from './object-store.ts'

export interface KnownStore {
  readonly id: string
  readonly name: string
  /** Why the last use of the store failed; null if it succeeded. */
  readonly problem: string | null
}

export interface Stores {
  /** The store, with its name. @throws Problem not_found */
  readonly open: (id: string) => Promise<ObjectStore & { readonly name: string }>
  /** At most two stores: whether there are none, one or several. */
  readonly some: (on: Db | Tx) => Promise<KnownStore[]>
  /** undefined if there is no such store. */
  readonly known: (on: Db | Tx, id: string) => Promise<KnownStore | undefined>
  /** The id of the store with this name; null if there is none. */
  readonly named: (name: string) => Promise<string | null>
  /**
   * Locks the store's row, so that it can't be removed before the end of the transaction. @throws
   * Problem not_found
   */
  readonly hold: (tx: Tx, id: string) => Promise<{ name: string }>
  /** Records the result of the last use; `problem` is null for success. */
  readonly note: (id: string, problem: string | null) => Promise<void>
}
