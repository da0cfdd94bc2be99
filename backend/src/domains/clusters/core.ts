/** The face of the clusters domain: what other domains call. */
import { Problem } from '#contract/errors.ts'
import type { Clusters } from './api.ts'
import { kubernetesOf, readEtcd } from '../control-planes/api.ts'
import { forgetServer } from './leave/leaving.ts'
import { demandUnheld } from './held/held.ts'
import { clusterMachines } from './machines.ts'
import { controlPlaneAddresses, type CoreParts, updateCluster } from './parts.ts'
import { system } from '../../http/caller.ts'
import { type ClusterSecrets, clusterSecrets } from './secrets.ts'
import * as store from './store.ts'
import { clusterConditions } from './health/conditions.ts'
import { clusterSummary } from './summary.ts'
import { wakeCluster } from './whole/wake.ts'

/** The face, and what only this domain's later parts use. */
export interface ClustersDomain extends Clusters {
  readonly secrets: ClusterSecrets
}

export function clusters(given: Omit<CoreParts, 'secrets'>): ClustersDomain {
  const { db, clock, engine } = given
  const secrets = clusterSecrets(given)
  const parts: CoreParts = { ...given, secrets }

  const find: Clusters['find'] = async (on, id) => {
    const row = await store.find(on, id)
    if (!row) return undefined
    const members = (await store.members(on, id)).filter(store.isWanted)
    return {
      id,
      name: row.name,
      version: row.version,
      status: row.status,
      leaving: row.wanted === 'removed',
      datacenter: { id: row.datacenter_id, code: row.datacenter_code },
      pod_cidr: row.pod_cidr,
      service_cidr: row.service_cidr,
      talos_version: row.talos_version,
      has_control_plane: row.control_plane_at !== null,
      taken_over: row.taken_over_at !== null,
      has_window: row.maintenance_window !== null,
      demandUnheld: (caller) => demandUnheld(caller, row),
      vlan_id: row.vlan_id,
      nodes: members
        .map((m) => ({ id: m.node_id, name: m.name, interface: m.interface }))
        .toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    }
  }

  return {
    secrets,
    machines: clusterMachines(parts),
    find,
    lock: async (tx, id) => ((await store.lock(tx, id)) ? find(tx, id) : undefined),
    idOf: store.idOf,
    touch: (tx, caller, id) => updateCluster(parts, tx, caller, id),
    async showFinding(tx, id, { finding, upgrade }) {
      await updateCluster(parts, tx, system, id, {
        finding: finding && JSON.stringify(finding),
        upgrade: upgrade && JSON.stringify(upgrade),
      })
    },
    countByDatacenter: async (on) =>
      new Map((await store.countByDatacenter(on)).map((c) => [c.datacenter_id!, c.clusters])),
    summary: () => clusterSummary(parts),
    conditions: (on) => clusterConditions(parts, on),
    memberIds: async (on, ids) => new Set(ids.length === 0 ? [] : await store.joinedIds(on, ids)),
    async goOn(tx, caller, id) {
      for (const m of await store.unsettled(tx, id))
        await store.updateMember(tx, id, m.node_id, { at_since: new Date(clock.now()) })
      await updateCluster(parts, tx, caller, id, { reason: null })
      await wakeCluster(engine, tx, id)
    },
    talosCredentials: (id, { role, lifetimeMs }) => secrets.mintTalos(id, [role], lifetimeMs),
    controlPlaneAddresses: (id) => controlPlaneAddresses(parts, id),
    async api(id) {
      const row = await store.row(db, id)
      if (!row || row.deleted_at !== null) throw new Error(`There is no cluster ${id}`)
      return kubernetesOf(parts, { row, members: await store.members(db, id) })
    },
    async readEtcd(id, signal, read) {
      const state = await store.load(db, id)
      if (!state) throw new Problem('not_found', `Cluster ${id} not found`)
      return readEtcd({ parts, state, signal }, read)
    },
    forgetServer: (caller, nodeId, options) => forgetServer(parts, caller, nodeId, options),
  }
}
