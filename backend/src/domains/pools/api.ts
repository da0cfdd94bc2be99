/** What other domains may call of clusters' pools: their subnets in the load balancer. */
import type { Db, Tx } from '../../db/db.ts'
import type { Caller } from '../../http/caller.ts'

/** Queue of a cluster's pools; the key is the cluster's id. */
export const poolQueue = 'cluster-pools'

/** A cluster that may be only planned. */
export interface PoolCluster {
  readonly id: string
  readonly name: string
  readonly datacenter: { readonly id: string; readonly code: string }
  readonly pod_cidr: string
  readonly service_cidr: string
}

export interface Pools {
  /**
   * What the subnets would be to a cluster that is planned: the name of each, or why the cluster
   * can't have it.
   */
  readonly judge: (
    on: Db | Tx,
    cluster: PoolCluster,
    subnetIds: readonly string[],
  ) => Promise<({ readonly id: string; readonly name: string } | { readonly refused: string })[]>
  /**
   * Assigns subnets in the transaction that creates the cluster. They reach its load balancer once
   * the cluster is ready and `poolQueue` is woken. @throws Problem not_found, conflict,
   * subnet_assigned
   */
  readonly reserve: (
    tx: Tx,
    caller: Caller,
    clusterId: string,
    subnetIds: readonly string[],
  ) => Promise<void>
  /** The error of a creation whose subnets another transaction has assigned; else the given one. */
  readonly takenProblem: (error: unknown, subnetIds: readonly string[]) => Promise<unknown>
  /** Frees the subnets of a removed cluster. */
  readonly release: (tx: Tx, clusterId: string) => Promise<void>
}
