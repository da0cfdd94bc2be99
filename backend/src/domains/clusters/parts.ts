/** Dependencies of the clusters domain, passed in so that tests can replace them. */
import type { Tx } from '../../db/db.ts'
import type { Engine } from '../../engine/engine.ts'
import type { Audit } from '../audit/audit.ts'
import type { Datacenters } from '../datacenters/datacenters.ts'
import type { Patches } from '../patches/patches.ts'
import type { Versions } from '../images/versions.ts'
import type { Subnets } from '../subnets/subnets.ts'
import type { ClusterCore, CoreParts } from './core.ts'

export interface ClusterParts extends CoreParts, ClusterCore {
  readonly datacenters: Pick<Datacenters, 'find'>
  readonly patches: Pick<Patches, 'createIn' | 'check' | 'mask' | 'render'>
  readonly subnets: Pick<Subnets, 'namesByCluster' | 'inDatacenter' | 'lockNetworks'>
  readonly audit: Pick<Audit, 'events'>
  /** Called in the transaction that removes a cluster, so that other domains get their objects back. */
  readonly onRemoved: (tx: Tx, clusterId: string) => Promise<void>
  readonly versions: Pick<Versions, 'pairs' | 'problem' | 'warnings'>
}

/** Queue of clusters; the key is the cluster's id. */
export const clusterQueue = 'cluster'
/** Queue of servers of clusters; the key is `<cluster id>/<node id>`. */
export const memberQueue = 'cluster-server'
export const memberKey = (clusterId: string, nodeId: string): string => `${clusterId}/${nodeId}`

/** Wakes the members that were not released yet, in the caller's transaction. */
export async function wakeMembers(
  engine: Pick<Engine, 'wake'>,
  tx: Tx,
  members: readonly { cluster_id: string; node_id: string; released_at: Date | null }[],
): Promise<void> {
  for (const m of members) if (m.released_at === null) await engine.wake(tx, memberQueue, memberKey(m.cluster_id, m.node_id))
}
