/** Counts the clusters of a list by what they have in common. */
import { type clusterGroupings, clusterList } from '#contract/clusters/clusters.ts'
import type { clusterGroups } from '#contract/clusters/groups.ts'
import type { Answer, Input } from '#contract/operation.ts'
import type { Db } from '../../../db/db.ts'
import { type GroupReaders, inGroups, named, ofFinding } from '../../../groups.ts'
import { type GroupedCluster, toGroup } from './store-listed.ts'

const readers: GroupReaders<(typeof clusterGroupings)[number], GroupedCluster> = {
  status: (row) => named(row.status),
  finding: ofFinding,
  datacenter: (row) => named(row.datacenter_id, row.datacenter_code),
  talos_version: (row) => named(row.talos_version),
  kubernetes_version: (row) => named(row.kubernetes_version),
}

/** @param query as `clusterGroups` has checked it */
export async function grouped(
  db: Db,
  { by, ...query }: Input<typeof clusterGroups>['query'],
): Promise<Answer<typeof clusterGroups>> {
  const rows = await toGroup(db, query)
  const { items, total, count } = inGroups(clusterList.list, readers, by, rows)
  return {
    items: items.map(({ count: clusters, ...group }) => ({ ...group, clusters })),
    total,
    clusters: count,
  }
}
