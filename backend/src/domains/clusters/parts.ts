/** Dependencies of the clusters domain, passed in so that tests can replace them. */
import type { ReadyKeys } from '#talos/secrets/bundle.ts'
import type { Clock } from '../../clock.ts'
import type { Db, Tx } from '../../db/db.ts'
import type { Engine } from '../../engine/engine.ts'
import type { Log } from '../../log.ts'
import type { Recorder } from '../../record.ts'
import type { DialPolicy } from '../../talos-fleet/dial-policy.ts'
import type { Vault } from '../../vault/vault.ts'
import type { Audit } from '../audit/audit.ts'
import type { Datacenters } from '../datacenters/datacenters.ts'
import type { Operations } from '../operations/operations.ts'
import type { Patches } from '../patches/patches.ts'
import type { Versions } from '../images/versions.ts'
import type { ForClusters } from '../servers/for-clusters.ts'
import type { Subnets } from '../subnets/subnets.ts'

export interface ClusterParts {
  readonly db: Db
  readonly clock: Clock
  /** Uniformly random bytes. */
  readonly randomBytes: (size: number) => Uint8Array
  readonly log: Log
  readonly recorder: Recorder
  readonly engine: Engine
  readonly vault: Vault
  readonly operations: Operations
  readonly datacenters: Pick<Datacenters, 'find'>
  readonly servers: ForClusters
  readonly patches: Pick<Patches, 'createIn' | 'check' | 'mask' | 'render'>
  readonly subnets: Pick<Subnets, 'namesByCluster' | 'inDatacenter' | 'lockNetworks'>
  readonly audit: Pick<Audit, 'events'>
  readonly dial: Pick<DialPolicy, 'check'>
  /** Called in the transaction that removes a cluster, so that other domains get their objects back. */
  readonly onRemoved: (tx: Tx, clusterId: string) => Promise<void>
  readonly versions: Pick<Versions, 'pairs' | 'problem' | 'warnings'>
  /** Host of the image factory, for the installers' names: `factory.talos.dev`. */
  readonly imageFactory: string
  /** Prepared private keys of authorities for tests, which needn't wait for RSA-4096. Never in production. */
  readonly readyKeys?: ReadyKeys | undefined
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
