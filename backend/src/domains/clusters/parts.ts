/**
 * Dependencies of the clusters domain (from the program and other domains), its queues, and
 * functions that its use cases share.
 */
import type { WorstFinding } from '#contract/findings/findings.ts'
import { Problem } from '#contract/errors.ts'
import { hasEnded, type Operation } from '#contract/operations.ts'
import type { Db, Tx } from '../../db/db.ts'
import type { Engine } from '../../engine/engine.ts'
import type { Caller } from '../../http/caller.ts'
import type { Platform } from '../../platform.ts'
import type { DialPolicy } from '../../talos-fleet/dial-policy.ts'
import type { Audit } from '../audit/api.ts'
import { factsOf } from '../control-planes/api.ts'
import type { Configurations } from '../configurations/api.ts'
import type { Datacenters } from '../datacenters/api.ts'
import type { Installers, OfferedVersions } from '../images/api.ts'
import type { Offers } from '../offers/api.ts'
import type { Operations } from '../operations/api.ts'
import type { Patches } from '../patches/api.ts'
import type { Pools } from '../pools/api.ts'
import type { Servers } from '../servers/api.ts'
import type { Snapshots } from '../snapshots/api.ts'
import type { History } from '../history/api.ts'
import type { Measurements } from '../measurements/api.ts'
import type { Subnets } from '../subnets/api.ts'
import type { ClusterSecrets } from './secrets.ts'
import * as store from './store.ts'

/** Dependencies of the functions in `core.ts`. */
export interface CoreParts extends Platform {
  readonly operations: Operations
  readonly servers: Servers
  readonly dial: Pick<DialPolicy, 'check'>
  readonly secrets: ClusterSecrets
}

/** Dependencies of the use cases and reconcilers of clusters. */
export interface ClusterParts extends CoreParts {
  readonly datacenters: Pick<Datacenters, 'find'>
  readonly patches: Patches
  readonly configurations: Configurations
  readonly subnets: Pick<Subnets, 'namesByCluster' | 'inDatacenter' | 'assigning' | 'lockNetworks'>
  readonly offers: Pick<Offers, 'lookFor' | 'statesOf'>
  readonly pools: Omit<Pools, 'release'>
  readonly snapshots: Omit<Snapshots, 'clusterRemoved'>
  readonly audit: Pick<Audit, 'events'>
  readonly measurements: Pick<Measurements, 'writeCluster'>
  readonly history: Pick<History, 'past'>
  /** What each object showed of its findings at a time of the past. */
  readonly worstThen: (at: Date) => Promise<ReadonlyMap<string, WorstFinding>>
  /**
   * Called in the transaction that removes a cluster, so that other domains can free their objects.
   */
  readonly onRemoved: (tx: Tx, clusterId: string) => Promise<void>
  readonly versions: OfferedVersions
  readonly installers: Installers
}

const missing = (id: string) => new Problem('not_found', `Cluster ${id} not found`)

/** The cluster as the contract shows it. @throws Problem not_found */
export async function demandCluster(on: Db | Tx, id: string): Promise<store.ListedCluster> {
  const row = await store.find(on, id)
  if (!row) throw missing(id)
  return row
}

/** Locks the cluster's row until the transaction ends. @throws Problem not_found */
export async function lockCluster(tx: Tx, id: string): Promise<store.ClusterRow> {
  const row = await store.lock(tx, id)
  if (!row) throw missing(id)
  return row
}

export async function controlPlaneAddresses(
  parts: Pick<CoreParts, 'db' | 'servers'>,
  clusterId: string,
): Promise<string[]> {
  const members = (await store.members(parts.db, clusterId)).filter(
    (m) => m.role === 'control_plane' && store.isWanted(m),
  )
  return (await factsOf(parts, parts.db, members)).map((f) => f.address)
}

/** Changes columns of a cluster that users see, and emits the event. Returns the new version. */
export async function updateCluster(
  { clock, tell }: Pick<CoreParts, 'clock' | 'tell'>,
  tx: Tx,
  caller: Caller,
  id: string,
  change: Parameters<typeof store.update>[2] = {},
): Promise<number> {
  const { version } = await store.update(tx, id, { ...change, updated_at: new Date(clock.now()) })
  await tell(tx, caller, { name: 'cluster.updated', object: { kind: 'cluster', id }, version })
  return version
}

/** The cluster's open operation, other than `except`; undefined if none runs. */
export async function runningOn(
  { operations }: Pick<CoreParts, 'operations'>,
  on: Db | Tx,
  row: Pick<store.ClusterRow, 'operation_id'>,
  except?: string,
): Promise<Operation | undefined> {
  const running =
    row.operation_id === null || row.operation_id === except
      ? undefined
      : await operations.read(on, row.operation_id)
  return running && !hasEnded(running) ? running : undefined
}

/** Queue of clusters; the key is the cluster's id. */
export const clusterQueue = 'cluster'
/** Queue of changes of clusters; the key is the cluster's id. */
export const changeQueue = 'cluster-change'
/** Queue of servers of clusters; the key is `<cluster id>/<node id>`. */
export const memberQueue = 'cluster-server'
/** Queue of clusters whose certificates are looked at; the key is the cluster's id. */
export const certificateQueue = 'cluster-certificates'
/** Queue of clusters whose health is read; the key is the cluster's id. */
export const healthQueue = 'cluster-health'
export const memberKey = (clusterId: string, nodeId: string): string => `${clusterId}/${nodeId}`

/** Wakes the members that were not released yet, in the caller's transaction. */
export async function wakeMembers(
  engine: Pick<Engine, 'wake'>,
  tx: Tx,
  members: readonly Pick<store.MemberRow, 'cluster_id' | 'node_id' | 'released_at'>[],
): Promise<void> {
  for (const m of members)
    if (m.released_at === null)
      await engine.wake(tx, memberQueue, memberKey(m.cluster_id, m.node_id))
}
