/** Clusters that only a set of files changes. */
import type { Cluster } from '#contract/clusters/clusters.ts'
import { canChangeHeld } from '#contract/clusters/files.ts'
import { inTransaction } from '../../../db/db.ts'
import { type Caller, callerName } from '../../../http/caller.ts'
import { demand } from '../../../http/errors.ts'
import { filesOf } from './held.ts'
import { type ClusterParts, lockCluster, updateCluster } from '../parts.ts'
import { shownOne } from '../shown.ts'

/** Answers `clusterFilesHold`. Repeating the call with the same set changes nothing. */
export const holdByFiles = (
  parts: ClusterParts,
  caller: Caller,
  id: string,
  set: string,
): Promise<Cluster> =>
  inTransaction(parts.db, async (tx) => {
    const row = await lockCluster(tx, id)
    demand(canChangeHeld({ name: row.name, files: filesOf(row) }, set), 'held_by_files')
    if (row.files_set !== set) {
      await updateCluster(parts, tx, caller, id, {
        files_set: set,
        files_by: callerName(caller),
        files_at: new Date(parts.clock.now()),
      })
      await parts.record(tx, caller, {
        action: 'cluster.files_held',
        target: { kind: 'cluster', id, name: row.name },
        before: { set: row.files_set },
        after: { set },
      })
    }
    return shownOne(parts, tx, id)
  })

/** Answers `clusterFilesRelease`. */
export const releaseFromFiles = (
  parts: ClusterParts,
  caller: Caller,
  id: string,
): Promise<Cluster> =>
  inTransaction(parts.db, async (tx) => {
    const row = await lockCluster(tx, id)
    if (row.files_set !== null) {
      await updateCluster(parts, tx, caller, id, {
        files_set: null,
        files_by: null,
        files_at: null,
      })
      await parts.record(tx, caller, {
        action: 'cluster.files_released',
        target: { kind: 'cluster', id, name: row.name },
        before: { set: row.files_set },
        after: { set: null },
      })
    }
    return shownOne(parts, tx, id)
  })
