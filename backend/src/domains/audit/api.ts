/** What other code may call of the audit log. Changes are written by `record` of the platform. */
import type * as z from 'zod/mini'
import type { AuditHead } from '#contract/audit.ts'
import type { ClusterEvent } from '#contract/clusters/clusters.ts'

export { type Entry, type Repeated, repeated } from './repeated.ts'

export interface Audit {
  /** The newest entries about one object, converted to events for users. */
  readonly events: (
    target: { kind: string; id: string },
    limit: number,
  ) => Promise<z.output<typeof ClusterEvent>[]>
  /**
   * Verifies the whole chain on this thread. `noted`: an entry recorded elsewhere; the chain must
   * contain it.
   */
  readonly verify: (noted?: AuditHead) => Promise<ChainVerdict>
}

export type ChainVerdict =
  | {
      readonly ok: true
      readonly entries: number
      readonly head: AuditHead
      /** Number of older entries, whose hashes were computed without a key. */
      readonly unkeyed: number
    }
  /**
   * `seq`: number of the first wrong entry. `reason`: continues a sentence that begins with "Entry"
   * and this number.
   */
  | { readonly ok: false; readonly seq: number; readonly reason: string }
