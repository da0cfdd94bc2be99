/** What the pools domain, which gives subnets to clusters, is offered by subnets, and what subnets ask of it. */
import type { Subnet } from '#contract/network/subnets.ts'
import type { Db, Tx } from '../../db/db.ts'
import type { Caller } from '../../http/caller.ts'

export interface ForPools {
  /**
   * The subnets, their rows locked in order of id until the transaction ends: nobody else assigns, changes or removes them meanwhile.
   * An id that is none is missing from the answer.
   */
  lockForAssignment(tx: Tx, ids: readonly string[]): Promise<Subnet[]>
  /** The same without a lock. */
  find(on: Db | Tx, ids: readonly string[]): Promise<Subnet[]>
  /** Every subnet that is assigned to the cluster, also one that is being drained, by name. */
  byCluster(on: Db | Tx, clusterId: string): Promise<Subnet[]>
  /** Says that assignments or what is seen in use changed. Versions count what people write of a subnet, so they stay. */
  tellChanged(tx: Tx, caller: Caller, ids: readonly string[]): Promise<void>
}

/** What subnets ask of the pools domain. */
export interface PoolAccess {
  /** The addresses that assigned subnets hand out have changed: their clusters are to be told, after the transaction. */
  changed(tx: Tx, subnetIds: readonly string[]): Promise<void>
}

/** Pools are made after subnets, which they need; until then there is no assignment that could be told. */
export function latePools(): PoolAccess & { bind(access: PoolAccess): void } {
  let bound: PoolAccess | undefined
  return {
    bind(access) {
      bound = access
    },
    changed: async (tx, subnetIds) => bound?.changed(tx, subnetIds),
  }
}
