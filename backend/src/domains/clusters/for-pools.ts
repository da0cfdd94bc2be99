/** Interface of clusters for the pools domain: the cluster's fields for subnets, and its Kubernetes API. */
import type { Db, Tx } from '../../db/db.ts'
import type { Caller } from '../../http/caller.ts'
import type { Kubernetes } from '../../kubernetes/client.ts'
import { type CoreParts, updateCluster } from './parts.ts'
import { kubernetesOf } from './kubernetes.ts'
import * as store from './store.ts'

export type PoolCluster = NonNullable<Awaited<ReturnType<ForPools['find']>>>
export type ForPools = ReturnType<typeof forPools>

export function forPools(parts: CoreParts) {
  const { db } = parts

  /** Undefined if the cluster doesn't exist. */
  const find = async (on: Db | Tx, id: string) => {
    const row = await store.find(on, id)
    if (!row) return undefined
    const members = (await store.members(on, id)).filter(store.isWanted)
    return {
      id,
      name: row.name,
      version: row.version,
      status: row.status,
      /** The cluster is being deleted, so nothing is assigned to it. */
      leaving: row.wanted === 'removed',
      datacenter: { id: row.datacenter_id, code: row.datacenter_code },
      pod_cidr: row.pod_cidr,
      service_cidr: row.service_cidr,
      /** VLAN of the workload, or null. */
      vlan_id: row.vlan_id,
      /** Its servers by name, with the workload link if known. */
      nodes: members.map((m) => ({ id: m.node_id, name: m.name, interface: m.interface })).toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    }
  }

  return {
    find,
    /** Locks the cluster's row until the transaction ends. */
    lock: async (tx: Tx, id: string) => ((await store.lock(tx, id)) ? find(tx, id) : undefined),
    /** Bumps the cluster's version after a change of its subnets and emits the event. Returns the version. */
    touch: (tx: Tx, caller: Caller, id: string) => updateCluster(parts, tx, caller, id),
    /** Its Kubernetes API, with credentials of its own authority. */
    async api(id: string): Promise<Kubernetes> {
      const row = await store.row(db, id)
      if (!row || row.deleted_at !== null) throw new Error(`There is no cluster ${id}`)
      return kubernetesOf(parts, { row, members: await store.members(db, id) })
    },
  }
}
