/**
 * Changes that settle a problem of a cluster: beside a line of its health, and beside a check that
 * refuses another change.
 */
import * as z from 'zod/mini'

/** As a remedy, `shrink` removes a server that does not answer, by force. */
const remedyChanges = [
  'defragment',
  'documents',
  'endpoint',
  'grow',
  'replace',
  'restore',
  'shrink',
  'snapshot',
  'upgradeKubernetes',
  'upgradeTalos',
] as const

export const Remedy = z.object({
  /** Kind of the change. */
  change: z.enum(remedyChanges),
  /** The server that the change is about; null: the cluster, or several servers. */
  node_id: z.nullable(z.uuid()),
  name: z.nullable(z.string()),
})
export type Remedy = z.infer<typeof Remedy>
