/** Whether only a set of files changes a cluster, and the refusal of other changes. */
import type { Cluster } from '#contract/clusters/clusters.ts'
import { canChangeHeld } from '#contract/clusters/files.ts'
import type { Caller } from '../../../http/caller.ts'
import { demand } from '../../../http/errors.ts'
import type * as store from '../store.ts'

type Held = Pick<store.ClusterRow, 'name' | 'files_set' | 'files_by' | 'files_at'>

export const filesOf = ({
  files_set,
  files_by,
  files_at,
}: Held): NonNullable<Cluster['files']> | null =>
  files_set === null || files_at === null
    ? null
    : { set: files_set, by: files_by, since: files_at.toISOString() }

/**
 * Refuses a change of a cluster that other files hold. Steelyard's own work is not refused, unless
 * it begins what was requested before the files held the cluster.
 * @throws Problem held_by_files
 */
export function demandUnheld(caller: Caller, row: Held): void {
  if (caller.kind === 'anonymous' || (caller.kind === 'system' && !caller.begins)) return
  demand(canChangeHeld({ name: row.name, files: filesOf(row) }, caller.appliedSet), 'held_by_files')
}
