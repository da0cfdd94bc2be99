/** The change of a cluster's labels and notes by a user. */
import type { Cluster } from '#contract/clusters/clusters.ts'
import type { clusterUpdate } from '#contract/clusters/update.ts'
import type { Input } from '#contract/operation.ts'
import { inTransaction } from '../../../db/db.ts'
import type { Caller } from '../../../http/caller.ts'
import { checkVersion, type Versions } from '../../../http/tags.ts'
import { relabelling } from '../../../labels.ts'
import { type ClusterParts, lockCluster, updateCluster } from '../parts.ts'
import { shownOne } from '../shown.ts'

/** Answers `clusterUpdate`. @throws Problem not_found, stale, invalid */
export const labelCluster = (
  parts: ClusterParts,
  caller: Caller,
  id: string,
  body: Input<typeof clusterUpdate>['body'],
  ifMatch?: Versions,
): Promise<Cluster> =>
  inTransaction(parts.db, async (tx) => {
    const row = await lockCluster(tx, id)
    checkVersion(ifMatch, row.version)
    const { columns, entries } = relabelling(row, body)
    if (entries.length === 0) return shownOne(parts, tx, id)
    await updateCluster(parts, tx, caller, id, columns)
    await parts.record(
      tx,
      caller,
      entries.map(({ what, ...entry }) => ({
        action: `cluster.${what}` as const,
        target: { kind: 'cluster', id, name: row.name },
        ...entry,
      })),
    )
    return shownOne(parts, tx, id)
  })
