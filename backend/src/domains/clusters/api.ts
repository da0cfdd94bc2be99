/** What other domains may call of clusters. */
import type { EndingCertificate } from '#contract/clusters/ending-certificates.ts'
import type { Cluster } from '#contract/clusters/clusters.ts'
import type { StoppedUpgrade, WorstFinding } from '#contract/findings/findings.ts'
import type { Overview } from '#contract/overview.ts'
import type { Db, Tx } from '../../db/db.ts'
import type { Caller } from '../../http/caller.ts'
import type { Kubernetes } from '../../kubernetes/client.ts'
import type { KnownClusters } from '../cluster-facts/api.ts'
import type { ClusterSide } from '../configurations/api.ts'
import type { Observed } from '../../db/columns.ts'

type On = Db | Tx

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
export { notYet, orderOf, progressOf, seeEtcd, standingOf } from './whole/etcd-order.ts'
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

export interface Clusters extends KnownClusters {
  /** What configurations asks about the machines of clusters. */
  readonly machines: ClusterSide
  /** Stores the worst finding of the cluster, after which it is ready or degraded. */
  readonly showFinding: (tx: Tx, id: string, shown: ShownFindings) => Promise<void>
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
  /** The cluster's Kubernetes API, with credentials from the cluster's own authority. */
  readonly api: (id: string) => Promise<Kubernetes>
}
