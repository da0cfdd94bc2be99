/** Interface of clusters for the pools domain: the cluster's fields for subnets, and its Kubernetes API. */
import type { ClusterStatus } from '#contract/clusters/clusters.ts'
import type { Db, Tx } from '../../db/db.ts'
import type { Caller } from '../../http/caller.ts'
import { load } from './facts.ts'
import type { Kubernetes } from '../../kubernetes/client.ts'
import type { CoreParts } from './core.ts'
import type { Reach } from './reach.ts'
import * as store from './store.ts'

export interface PoolCluster {
  readonly id: string
  readonly name: string
  readonly version: number
  readonly status: ClusterStatus
  /** The cluster is being deleted, so nothing is assigned to it. */
  readonly leaving: boolean
  readonly datacenter: { readonly id: string; readonly code: string }
  readonly pod_cidr: string
  readonly service_cidr: string
  /** VLAN of the workload, or null. */
  readonly vlan_id: number | null
  /** Its servers by name, with the workload link if known. */
  readonly nodes: readonly { readonly id: string; readonly name: string; readonly interface: string | null }[]
}

export interface ForPools {
  /** Undefined if the cluster doesn't exist. */
  find(on: Db | Tx, id: string): Promise<PoolCluster | undefined>
  /** Locks the cluster's row until the transaction ends. */
  lock(tx: Tx, id: string): Promise<PoolCluster | undefined>
  /** Bumps the cluster's version after a change of its subnets and emits the event. Returns the version. */
  touch(tx: Tx, caller: Caller, id: string): Promise<number>
  /** Its Kubernetes API, with credentials of its own authority. */
  api(id: string): Promise<Kubernetes>
}

export function forPools({ db, clock, tell }: Pick<CoreParts, 'db' | 'clock' | 'tell'>, reached: Reach): ForPools {
  const find = async (on: Db | Tx, id: string): Promise<PoolCluster | undefined> => {
    const row = await store.find(on, id)
    if (!row) return undefined
    const members = (await store.members(on, id)).filter((m) => m.wanted === 'joined' && m.released_at === null)
    return {
      id,
      name: row.name,
      version: row.version,
      status: row.status,
      leaving: row.wanted === 'removed',
      datacenter: { id: row.datacenter_id, code: row.datacenter_code },
      pod_cidr: row.pod_cidr,
      service_cidr: row.service_cidr,
      vlan_id: row.vlan_id,
      nodes: members.map((m) => ({ id: m.node_id, name: m.name, interface: m.interface })).toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    }
  }

  return {
    find,
    lock: async (tx, id) => ((await store.lock(tx, id)) ? find(tx, id) : undefined),
    async touch(tx, caller, id) {
      const { version } = await store.update(tx, id, { updated_at: new Date(clock.now()) })
      await tell(tx, caller, { name: 'cluster.updated', object: { kind: 'cluster', id }, version })
      return version
    },
    async api(id) {
      const state = await load(db, id)
      if (!state) throw new Error(`There is no cluster ${id}`)
      return reached.api(state)
    },
  }
}
