/** Dependencies of the offers domain, and functions that its files share. */
import { resourcesOf } from '#contract/marketplace/offers.ts'
import type { Tx } from '../../db/db.ts'
import { type Caller, system } from '../../http/caller.ts'
import type { Platform } from '../../platform.ts'
import type { ClusterFacts, KnownClusters } from '../cluster-facts/api.ts'
import type { Servers } from '../servers/api.ts'
import * as store from './store.ts'

export interface OfferParts extends Platform {
  readonly clusters: Pick<KnownClusters, 'find' | 'lock' | 'touch'>
  readonly servers: Pick<Servers, 'forPlan'>
  /** 32 secret bytes of this installation. */
  readonly installationKey: () => Promise<Uint8Array>
}

export const nowOf = ({ clock }: Pick<OfferParts, 'clock'>): Date => new Date(clock.now())

/** The target of an audit entry about an offer. */
export const targetOf = ({ id, cluster_name }: Pick<store.OfferRow, 'id' | 'cluster_name'>) => ({
  kind: 'offer',
  id,
  name: cluster_name ?? id,
})

/** What the servers of a cluster have now, and their ids. */
export async function inventory(
  { servers }: Pick<OfferParts, 'servers'>,
  on: Tx | OfferParts['db'],
  cluster: ClusterFacts,
) {
  const ids = cluster.nodes.map((node) => node.id)
  return {
    ids,
    resources: resourcesOf((await servers.forPlan(on, ids)).map((facts) => facts.hardware)),
  }
}

/**
 * Gives an offer without a cluster to a cluster without an offer. The caller has locked the
 * cluster. Nothing else of the offer changes: its resources and its access address are those of the
 * former cluster until somebody decides.
 */
export async function attach(
  parts: OfferParts,
  tx: Tx,
  cluster: ClusterFacts,
  offerId: string,
): Promise<void> {
  const before = await store.lock(tx, offerId)
  if (!before || before.cluster_id !== null || (await store.ofCluster(tx, cluster.id))) return
  const after = await store.update(
    tx,
    offerId,
    { cluster_id: cluster.id, datacenter_id: cluster.datacenter.id },
    nowOf(parts),
  )
  await store.endSearch(tx, cluster.id, nowOf(parts))
  await parts.record(tx, system, {
    action: 'offer.detected',
    target: targetOf(after),
    after: { cluster: cluster.name, access_address: after.access_address },
    event: { name: 'offer.updated', version: after.version },
  })
  await parts.clusters.touch(tx, system, cluster.id)
}

/** Separates an offer from its cluster, which is being removed: what it sold is gone. */
export async function detach(
  parts: OfferParts,
  tx: Tx,
  caller: Caller,
  clusterId: string,
): Promise<void> {
  await store.removeSearch(tx, clusterId)
  const found = await store.ofCluster(tx, clusterId)
  const before = found && (await store.lock(tx, found.id))
  if (!before) return
  const status = before.status === 'listed' ? 'withdrawn' : before.status
  const after = await store.update(
    tx,
    before.id,
    { cluster_id: null, proven_at: null, status },
    nowOf(parts),
  )
  await parts.record(tx, caller, {
    action: 'offer.detached',
    target: targetOf(before),
    before: { cluster: before.cluster_name, status: before.status },
    after: { cluster: null, status, why: 'The cluster was removed' },
    event: { name: 'offer.updated', version: after.version },
  })
}
