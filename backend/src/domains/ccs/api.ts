/** What other domains may call of capacity commitments. */
import type { CapacityCommitment, CcTerms } from '#contract/marketplace/ccs.ts'
import type { Tx } from '../../db/db.ts'
import type { Caller } from '../../http/caller.ts'

export { serverRemoved } from './removed.ts'

export const noOffer = 'There is no such offer'

export interface Draft extends Required<CcTerms>, Pick<CapacityCommitment, 'version'> {}

/** Commits the capacity of servers, as the calls on one commitment do. */
export interface Committing {
  readonly hasOffer: (id: string) => Promise<boolean>
  /** The drafts of these servers, by server. */
  readonly drafts: (serverIds: readonly string[]) => Promise<Map<string, Draft>>
  /**
   * Commits the draft of a server with these terms, or adds a commitment with them. The versions are
   * those of the server and of the draft that the person has seen; null: it had none.
   * @throws Problem not_found, stale, conflict, invalid
   */
  readonly commit: (
    tx: Tx,
    caller: Caller,
    serverId: string,
    asked: {
      readonly terms: CcTerms
      readonly version: number
      readonly draftVersion: number | null
    },
  ) => Promise<void>
}
