/** What other domains may call of clusters. */
import type { EndingCertificate } from '#contract/clusters/ending-certificates.ts'
import type { Cluster } from '#contract/clusters/clusters.ts'
import type { Operation } from '#contract/operations.ts'
import type { StoppedUpgrade, WorstFinding } from '#contract/findings/findings.ts'
import type { Overview } from '#contract/overview.ts'
import type { Credentials, TalosRole } from '#talos/pki/certificates.ts'
import type { Db, Tx } from '../../db/db.ts'
import type { Caller } from '../../http/caller.ts'
import type { Versions } from '../../http/tags.ts'
import type { Kubernetes } from '../../kubernetes/client.ts'
import type { ClusterSide } from '../configurations/api.ts'
import type { Observed } from '../../db/columns.ts'

type On = Db | Tx

export interface ClusterFacts {
  readonly id: string
  readonly name: string
  readonly version: number
  readonly status: Cluster['status']
  /** The cluster is being deleted, so nothing is assigned to it. */
  readonly leaving: boolean
  readonly datacenter: { readonly id: string; readonly code: string }
  readonly pod_cidr: string
  readonly service_cidr: string
  /** `v1.13.9` */
  readonly talos_version: string
  readonly has_control_plane: boolean
  /** Other programs, and other Steelyards, may have objects in a cluster that was taken over. */
  readonly taken_over: boolean
  readonly has_window: boolean
  /** @throws Problem held_by_files if only other files change the cluster */
  readonly demandUnheld: (caller: Caller) => void
  /** VLAN of the workload, or null. */
  readonly vlan_id: number | null
  /** The cluster's servers by name, with their workload links if known. */
  readonly nodes: readonly {
    readonly id: string
    readonly name: string
    readonly interface: string | null
  }[]
}

/** What findings make a cluster show. */
export interface ShownFindings {
  /** The worst one. */
  readonly finding: WorstFinding | null
  readonly upgrade: StoppedUpgrade | null
}

/** A restore of the database, or a failover to an older state of it. */
export interface Restored {
  readonly restored_at: Date
  /** The time of the state that the database was in. */
  readonly backup_made_at: Date
  /** What the database lacks, if it went back by itself. */
  readonly missing: string | null
}

/** What findings about a cluster are judged from. All values are stored ones. */
export interface ClusterCondition {
  readonly id: string
  readonly name: string
  readonly datacenter: { readonly id: string; readonly code: string }
  readonly status: Cluster['status']
  readonly reason: string | null
  /** When it was ready for the first time; null: never. */
  readonly ready_at: Date | null
  readonly talos_version: string
  readonly kubernetes_version: string
  /** The newest operation that has begun on it; only this one can be retried. */
  readonly operation_id: string | null
  /** What its etcd, API servers and disks showed last; null: they were not asked yet. */
  readonly observed: Observed | null
  readonly shown: ShownFindings
  /** What the watch over a ready cluster has found. */
  readonly problem: {
    readonly kind: 'api' | 'api_server' | 'nodes' | 'components' | 'former_member'
    readonly since: Date
  } | null
  readonly locked_out: { readonly reason: string; readonly since: Date | null } | null
  /** The restore since which nothing is sent to its servers. */
  readonly held: Restored | null
  /** The certificates that a user has to replace. */
  readonly certificates: readonly EndingCertificate[]
  /** Sentences of actions that fail repeatedly. */
  readonly troubles: readonly string[]
  /** Ids of the control planes that are members of etcd. */
  readonly control_planes: readonly string[]
}

/** Rows, and what changes of running clusters read and write of them. */
export { type ClusterRows, clusterRows } from './rows.ts'
export type { ClusterRow, MemberRow, State } from './store.ts'

/** Parts, queues and locks that changes share with clusters. */
export {
  certificateQueue,
  changeQueue,
  type ClusterParts,
  clusterQueue,
  type CoreParts,
  demandCluster,
  lockCluster,
  memberKey,
  memberQueue,
  runningOn,
  updateCluster,
} from './parts.ts'
export { holdCluster, Overtaken, pollMs } from './whole/cluster-run.ts'
export { demandUnheld } from './held/held.ts'
export { isInDocuments } from './forms.ts'
export { apiServersOf, versionOf } from './outside.ts'
export type { ClusterSecrets, OpenRotation } from './secrets.ts'
export { formsOf, type ServerStep } from './rotation-stages.ts'
export { bootstrapTokenPath } from './objects.ts'

/** What a server gets that joins, and whether it may. */
export { type ChosenServer, emptySchematic, imageOfChosen, installImage } from './blueprint.ts'
export { agreedOf, diskColumns, found, wwidsOf } from './disks.ts'
export { joiningStepsOf, leavingStepsOf, placesOf } from './plan.ts'
export { judgeServers, toWipe } from './create/check.ts'
export {
  clustersSharing,
  dialledNetwork,
  endpointUrl,
  judgeEndpoint,
} from './create/check-endpoint.ts'
export { joiningProblem } from './create/check-networks.ts'
export { judgePatches } from './create/configurations.ts'
export { notYet, orderOf, progressOf, seeEtcd, standingOf } from './create/etcd-order.ts'
export { demandSameImages, noImages, type ServerImages, withImages } from './create/image.ts'
export type { Finding } from './create/judged.ts'
export { reachedAfter } from './create/losses.ts'
export { wipesOf } from './create/retrying.ts'

/** How far a server is that joins or leaves, and what it left behind. */
export type { Seen } from './member/acts.ts'
export { lastLines } from './member/failure-log.ts'
export { release } from './member/releasing.ts'
export { lookAt, type ServerReset } from './leave/leaving.ts'
export { lateReason } from './whole/bring-up.ts'
export { leftTraces } from './whole/watch.ts'
export { shownOne } from './shown.ts'

export type { Observed } from '../../db/columns.ts'
export { fillingSaid } from './health/filling.ts'
export type ClustersSummary = Overview['clusters']

export interface Clusters {
  /** What configurations asks about the machines of clusters. */
  readonly machines: ClusterSide
  /** Undefined if the cluster doesn't exist. */
  readonly find: (on: On, id: string) => Promise<ClusterFacts | undefined>
  /** Locks the cluster's row until the transaction ends. */
  readonly lock: (tx: Tx, id: string) => Promise<ClusterFacts | undefined>
  /** The id of the cluster with this id or name; undefined if there is none. */
  readonly idOf: (on: On, text: string) => Promise<string | undefined>
  /**
   * Increments the cluster's version after a change of what belongs to it and emits
   * `cluster.updated`. Returns the new version.
   */
  readonly touch: (tx: Tx, caller: Caller, id: string) => Promise<number>
  /** Stores the worst finding of the cluster, after which it is ready or degraded. */
  readonly showFinding: (tx: Tx, id: string, shown: ShownFindings) => Promise<void>
  readonly countByDatacenter: (on: On) => Promise<ReadonlyMap<string, number>>
  /** Number of clusters by status. */
  readonly summary: () => Promise<ClustersSummary>
  /** The conditions of all clusters that are not being deleted, read by a few queries. */
  readonly conditions: (on: On) => Promise<ClusterCondition[]>
  /** Ids of the servers that belong to these clusters and are to stay in them. */
  readonly memberIds: (on: On, clusterIds: readonly string[]) => Promise<ReadonlySet<string>>
  /**
   * Resumes a cluster that was held after a restore. The time on hold doesn't count towards time
   * limits.
   */
  readonly goOn: (tx: Tx, caller: Caller, id: string) => Promise<void>
  /**
   * Issues client credentials for a cluster's Talos API without storing them. Null if the cluster
   * doesn't exist.
   */
  readonly talosCredentials: (
    id: string,
    wanted: { role: TalosRole; lifetimeMs: number },
  ) => Promise<Credentials | null>
  /** Addresses of a cluster's control planes, for the endpoints of a talosconfig. */
  readonly controlPlaneAddresses: (id: string) => Promise<string[]>
  /** The cluster's Kubernetes API, with credentials from the cluster's own authority. */
  readonly api: (id: string) => Promise<Kubernetes>
  /**
   * Reads the etcd of a cluster from its best member. `read` gets the bytes of the snapshot and
   * must consume them. @throws Problem `cluster_not_ready` with the reason if no member can be
   * read; TalosError if the stream breaks off
   */
  readonly readEtcd: <T>(
    id: string,
    signal: AbortSignal,
    read: (from: { name: string; version: string }, bytes: AsyncIterable<Uint8Array>) => Promise<T>,
  ) => Promise<T>
  /**
   * Removes a silent server from Steelyard and from its cluster. Null if the server is in no
   * cluster. @throws Problem `transition_refused` if the server answers or the cluster can't lose
   * it; `stale`
   */
  readonly forgetServer: (
    caller: Caller,
    nodeId: string,
    options: { ifMatch?: Versions; signal?: AbortSignal | undefined },
  ) => Promise<Operation | null>
}
