/**
 * The parts of the clusters domain that the servers, configurations and pools domains use. Constructed
 * before those domains, to avoid a dependency cycle.
 */
import type { TalosRole } from '#talos/pki/certificates.ts'
import type { Db, Tx } from '../../db/db.ts'
import type { Caller } from '../../http/caller.ts'
import type { Kubernetes } from '../../kubernetes/client.ts'
import type { ClusterSide } from '../configurations/api.ts'
import { touching, whyNotRequest } from './control-planes/touching.ts'
import { forSnapshots } from './change/snapshots/for-snapshots.ts'
import { forgetServer } from './leave/leaving.ts'
import { outside } from './outside.ts'
import { kubernetesOf } from './kubernetes.ts'
import { controlPlaneAddresses, type CoreParts, updateCluster } from './parts.ts'
import { clusterSecrets } from './secrets.ts'
import * as store from './store.ts'

/** Time limit in ms of asking all control planes while a user waits. */
const askMs = 15_000

export function clusterCore(given: Omit<CoreParts, 'secrets'>) {
  const secrets = clusterSecrets(given)
  const parts: CoreParts = { ...given, secrets }
  /** What the servers domain may call. */
  const access = {
    /**
     * Issues client credentials for a cluster's Talos API without storing them. Null if the cluster
     * doesn't exist.
     */
    talosCredentials: (
      clusterId: string,
      { role, lifetimeMs }: { role: TalosRole; lifetimeMs: number },
    ) => secrets.mintTalos(clusterId, [role], lifetimeMs),
    /** Addresses of a cluster's control planes, for the endpoints of a talosconfig. */
    controlPlaneAddresses: (clusterId: string) => controlPlaneAddresses(parts, clusterId),
    forgetServer: (caller: Caller, nodeId: string, options: Parameters<typeof forgetServer>[3]) =>
      forgetServer(parts, caller, nodeId, options),
  }
  const placeOf = async (clusterId: string, nodeId: string) => {
    const state = await store.load(parts.db, clusterId)
    const m = state?.members.find((one) => one.node_id === nodeId && store.isWanted(one))
    return state && m && { state, m }
  }
  const machines: ClusterSide = {
    ...outside(parts),
    talosCredentials: access.talosCredentials,
    async touching(clusterId, nodeId, send, { signal, mends = [] }) {
      const found = await placeOf(clusterId, nodeId)
      return found === undefined
        ? { sent: await send() }
        : touching({ parts, state: found.state, signal }, found.m, send, new Set(mends))
    },
    async whyNotRequest(clusterId, nodeId) {
      const found = await placeOf(clusterId, nodeId)
      const signal = AbortSignal.timeout(askMs)
      return found === undefined
        ? null
        : whyNotRequest({ parts, state: found.state, signal }, found.m)
    },
  }
  return { secrets, access, machines, forPools: forPools(parts), forSnapshots: forSnapshots(parts) }
}

export type PoolCluster = NonNullable<Awaited<ReturnType<ForPools['find']>>>
export type ForPools = ReturnType<typeof forPools>

/** What the pools domain may call. */
export function forPools(parts: CoreParts) {
  const { db } = parts

  /** A cluster's facts; undefined if the cluster doesn't exist. */
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
      /**
       * Other programs, and other Steelyards, may have objects in a cluster that was taken over.
       */
      taken_over: row.taken_over_at !== null,
      /** VLAN of the workload, or null. */
      vlan_id: row.vlan_id,
      /** The cluster's servers by name, with their workload links if known. */
      nodes: members
        .map((m) => ({ id: m.node_id, name: m.name, interface: m.interface }))
        .toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    }
  }

  return {
    find,
    /** Locks the cluster's row until the transaction ends. */
    lock: async (tx: Tx, id: string) => ((await store.lock(tx, id)) ? find(tx, id) : undefined),
    /**
     * Increments the cluster's version after a change of its subnets and emits `cluster.updated`.
     * Returns the new version.
     */
    touch: (tx: Tx, caller: Caller, id: string) => updateCluster(parts, tx, caller, id),
    /** The cluster's Kubernetes API, with credentials from the cluster's own authority. */
    async api(id: string): Promise<Kubernetes> {
      const row = await store.row(db, id)
      if (!row || row.deleted_at !== null) throw new Error(`There is no cluster ${id}`)
      return kubernetesOf(parts, { row, members: await store.members(db, id) })
    },
  }
}
