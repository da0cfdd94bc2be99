/** What other domains may call of clusters' pools: their subnets in the load balancer. */
import type { Tx } from '../../db/db.ts'

/** Queue of a cluster's pools; the key is the cluster's id. */
export const poolQueue = 'cluster-pools'

export interface Pools {
  /** Frees the subnets of a removed cluster. */
  readonly release: (tx: Tx, clusterId: string) => Promise<void>
}
