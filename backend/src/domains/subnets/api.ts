/** What other domains may call of IP subnets. */
import type { Problem } from '#contract/errors.ts'
import type { Subnet } from '#contract/network/subnets.ts'
import type { Db, Tx } from '../../db/db.ts'
import type { Caller } from '../../http/caller.ts'
import type { ServerAddress } from '../servers/api.ts'

type On = Db | Tx

export interface Subnets {
  /**
   * Called first in a transaction that adds networks (subnets, pods, services) and checks them for
   * overlaps. Order of locks: this lock, the datacenter, the cluster, subnets by id.
   */
  readonly lockNetworks: (tx: Tx) => Promise<void>
  /** Subnets in the datacenter, which a cluster's own networks must not shadow. */
  readonly inDatacenter: (on: On, datacenterId: string) => Promise<{ name: string; cidr: string }[]>
  /** Name of the workload subnet from which the address may be assigned to a Service, or null. */
  readonly assigning: (on: On, datacenterId: string, address: string) => Promise<string | null>
  /** Ids, names and CIDRs of clusters' subnets, by cluster id. */
  readonly namesByCluster: (
    on: On,
    clusterIds: readonly string[],
  ) => Promise<ReadonlyMap<string, { id: string; name: string; cidr: string }[]>>
  readonly countByDatacenter: (on: On) => Promise<ReadonlyMap<string, number>>
  /**
   * The subnets with the highest utilisation. Subnets with unknown utilisation are left out.
   */
  readonly fullest: (most: number) => Promise<Subnet[]>
  /** The subnets of each cluster that has no free address in any of them, by cluster id. */
  readonly exhausted: (
    on: On,
  ) => Promise<ReadonlyMap<string, readonly { readonly name: string; readonly cidr: string }[]>>
  /** The workload subnets of a datacenter that no cluster has, by name. */
  readonly free: (datacenterId: string) => Promise<Subnet[]>
  /** Subnets by id. Unknown ids are left out. */
  readonly find: (on: On, ids: readonly string[]) => Promise<Subnet[]>
  /** Like `find`, with the rows locked in id order until the transaction ends. */
  readonly lockForAssignment: (tx: Tx, ids: readonly string[]) => Promise<Subnet[]>
  /**
   * Why a Service must get no address of the subnet: a server or the virtual IP of a cluster has one
   * that isn't excluded. Null: nothing has. They may have come after the subnet. `addresses`: those
   * of all servers.
   */
  readonly heldBy: (
    on: On,
    subnet: Subnet,
    addresses: readonly ServerAddress[],
  ) => Promise<{ readonly message: string; readonly related?: Problem['related'] } | null>
  /**
   * All subnets that are assigned to the cluster, by name, including those that are being drained.
   */
  readonly byCluster: (on: On, clusterId: string) => Promise<Subnet[]>
  /**
   * Emits events after assignments or addresses in use have changed. Versions don't change, because
   * they count only changes by users.
   */
  readonly tellChanged: (tx: Tx, caller: Caller, ids: readonly string[]) => Promise<void>
}
