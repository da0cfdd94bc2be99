/** What acts on many servers need of other domains. */
import type { Cluster } from '#contract/clusters/clusters.ts'
import type { Platform } from '../../platform.ts'
import type { ChangeOf, ClusterPlan } from '#contract/clusters/changes/changes.ts'
import type { ClusterRequest } from '../changes/api.ts'
import type { ServerReset } from '../clusters/api.ts'
import type { Committing } from '../ccs/api.ts'
import type { Operations } from '../operations/api.ts'
import type { ServerActs, Servers } from '../servers/api.ts'

export interface BulkParts extends Platform {
  readonly operations: Operations
  readonly servers: Pick<Servers, 'several' | 'idsOf'>
  readonly acts: ServerActs
  readonly ccs: Committing
  readonly clusters: {
    readonly reset: ServerReset
    readonly request: ClusterRequest
    /** Asks the machines, as `clusterPlan` does. @throws Problem as `clusterPlan` */
    readonly plan: (
      id: string,
      change: ChangeOf<'upgradeTalos'>,
      signal: AbortSignal,
    ) => Promise<ClusterPlan>
    /** Undefined if the cluster doesn't exist. */
    readonly read: (id: string) => Promise<Cluster | undefined>
  }
}
