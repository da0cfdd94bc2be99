/**
 * Clusters as users see them, with their subnets, offers and troubles. Read in the transaction of a
 * change, so that no change is answered with a refusal.
 */
import type { Cluster } from '#contract/clusters/clusters.ts'
import type { Db, Tx } from '../../db/db.ts'
import { type ClusterParts, demandCluster } from './parts.ts'
import { present } from './present.ts'
import type * as store from './store.ts'
import { troublesOf } from './troubles.ts'

export async function shown(
  { engine, subnets, offers, servers }: ClusterParts,
  on: Db | Tx,
  rows: readonly store.ListedCluster[],
): Promise<Cluster[]> {
  const ids = rows.map((r) => r.id)
  const names = await subnets.namesByCluster(on, ids)
  const states = await offers.statesOf(on, ids)
  const troubles = await troublesOf(on, { engine })
  const words = await servers.wordsByCluster()
  return rows.map((row) =>
    present(row, {
      offer: states.get(row.id),
      subnets: names.get(row.id),
      serversSaid: words.get(row.id),
      troubles: troubles.get(row.id)?.slice(),
    }),
  )
}

/** @throws Problem not_found */
export const shownOne = async (parts: ClusterParts, on: Db | Tx, id: string): Promise<Cluster> =>
  (await shown(parts, on, [await demandCluster(on, id)]))[0]!
