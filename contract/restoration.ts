/**
 * Objects held after a restore until a user resumes them. Steelyard sends nothing to servers of
 * held objects.
 */
import * as z from 'zod/mini'
import { operation } from './operation.ts'
import { Operation } from './operations.ts'
import { time } from './page.ts'
import { forNow, type Verdict, yes } from './rule.ts'
import { someOf } from './words.ts'

export const HeldCluster = z.object({
  id: z.uuid(),
  name: z.string(),
  servers: z.int(),
  /**
   * Servers that were not contacted since the restore; the cluster can be resumed when the list is
   * empty. A server that doesn't answer counts as contacted.
   */
  unasked: z.array(z.string()),
  /** Servers that were contacted but don't answer. */
  unreachable: z.array(z.string()),
  /** Operations that continue when the cluster is resumed. */
  operations: z.array(Operation),
})
export type HeldCluster = z.infer<typeof HeldCluster>

export const Restoration = z.object({
  /** null: nothing is held. */
  restored: z.nullable(
    z.object({
      /** The time of the state that the database was in. */
      backup_made_at: time,
      restored_at: time,
      /**
       * What the database lacks, such as "events 10412 to 10475", if it went back in time by itself,
       * for example after a failover. null: it was restored from a backup.
       */
      missing: z.nullable(z.string()),
    }),
  ),
  clusters: z.array(HeldCluster),
  /** Held operations without a cluster. */
  operations: z.array(Operation),
})
export type Restoration = z.infer<typeof Restoration>

/** Whether a cluster may be resumed: the state of each of its servers must be known. */
export function canResumeCluster({ unasked }: Pick<HeldCluster, 'unasked'>): Verdict {
  if (unasked.length === 0) return yes
  return forNow(
    `${someOf(unasked)} ${unasked.length === 1 ? 'has' : 'have'} not been contacted since the restore: wait until each has answered or failed to answer`,
  )
}

export const restorationGet = operation('restorationGet', 'GET /v1/restoration', 'signed_in', {
  summary:
    'The clusters and operations that the caller may see and that have been held since a restore.',
  answer: Restoration,
})
export const clusterResume = operation(
  'clusterResume',
  'POST /v1/clusters/{id}/resume',
  'clusters:write',
  {
    summary:
      'Resume a cluster that has been held since a restore, with the operations on the cluster and its servers.',
    answer: z.object({ operations: z.array(Operation) }),
    errors: ['transition_refused'],
  },
)
export const operationResume = operation(
  'operationResume',
  'POST /v1/operations/{id}/resume',
  'signed_in',
  {
    summary:
      'Resume an operation that has been held since a restore, or that waits because its work ended Steelyard three times. After a restore the whole cluster of the operation is resumed.',
    answer: z.object({ operations: z.array(Operation) }),
    errors: ['transition_refused'],
  },
)
