/** What acts on many servers need of other domains. */
import type { Cluster } from '#contract/clusters/clusters.ts'
import type { Platform } from '../../platform.ts'
import type { ServerReset } from '../clusters/api.ts'
import type { Operations } from '../operations/api.ts'
import type { ServerActs, Servers } from '../servers/api.ts'

export interface BulkParts extends Platform {
  readonly operations: Operations
  readonly servers: Pick<Servers, 'several' | 'idsOf'>
  readonly acts: ServerActs
  readonly clusters: {
    readonly reset: ServerReset
    /** Undefined if the cluster doesn't exist. */
    readonly read: (id: string) => Promise<Cluster | undefined>
  }
}
