/** What other domains may call of offers. */
import type { Db, Tx } from '../../db/db.ts'
import type { Caller } from '../../http/caller.ts'

/** The offer that sells a cluster. */
export interface OfferState {
  readonly offerId: string | null
  /** Since when Steelyard looks for the offer, or null if it doesn't. */
  readonly lookingSince: Date | null
  /** Whether the offer's access address is the address of the cluster. */
  readonly isAddressSet: boolean
}

export interface Offers {
  /**
   * Called in the transaction that creates a cluster. Begins to look for the cluster's offer.
   */
  readonly lookFor: (tx: Tx, clusterId: string) => Promise<OfferState>
  /** The offer of each of these clusters, and since when Steelyard looks for it. */
  readonly statesOf: (
    on: Db | Tx,
    clusterIds: readonly string[],
  ) => Promise<ReadonlyMap<string, OfferState>>
  /**
   * Called in the transaction that removes a cluster. The offer may belong to another cluster of
   * the same servers, which exists already.
   */
  readonly clusterRemoved: (tx: Tx, caller: Caller, clusterId: string) => Promise<void>
}
