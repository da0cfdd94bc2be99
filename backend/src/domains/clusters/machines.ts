/** What configurations asks about the machines of clusters. */
import type { ClusterSide } from '../configurations/api.ts'
import { forNow } from '#contract/rule.ts'
import {
  canBeOff,
  type ClusterView,
  etcdMembers,
  etcdReports,
  kubeletNow,
  sentenceOf,
  touching,
  whyNotRequest,
  whyNotRestart,
} from '../control-planes/api.ts'
import { KubernetesError } from '../../kubernetes/answers.ts'
import { inTransaction } from '../../db/db.ts'
import { demandUnheld } from './held/held.ts'
import { outside } from './outside.ts'
import type { CoreParts } from './parts.ts'
import * as store from './store.ts'
import { timeLimit } from '../../time-limit.ts'

/** Time limit in ms of asking all control planes while a user waits. */
const askMs = 15_000

export function clusterMachines(parts: CoreParts): ClusterSide {
  const placeOf = async (clusterId: string, nodeId: string) => {
    const state = await store.load(parts.db, clusterId)
    const m = state?.members.find((one) => one.node_id === nodeId && store.isWanted(one))
    return state && m && { state, m }
  }
  /** Asks the control planes while a user waits. */
  const asking = async (
    clusterId: string,
    nodeId: string,
    ask: (view: ClusterView, m: store.MemberRow) => Promise<string | null>,
  ): Promise<string | null> => {
    const found = await placeOf(clusterId, nodeId)
    if (found === undefined) return null
    const signal = timeLimit(askMs)
    try {
      return await ask({ parts, state: found.state, signal }, found.m)
    } catch (error) {
      if (!signal.aborted) throw error
      return `The control planes have not answered within ${askMs / 1000} s`
    }
  }
  return {
    ...outside(parts),
    async demandUnheld(on, caller, clusterId) {
      const row = await store.find(on, clusterId)
      if (row) demandUnheld(caller, row)
    },
    talosCredentials: (id, { role, lifetimeMs }) => parts.secrets.mintTalos(id, [role], lifetimeMs),
    async touching(clusterId, nodeId, send, { signal, mends = [], restarts, ...more }) {
      const found = await placeOf(clusterId, nodeId)
      if (found === undefined) return { sent: await send() }
      const view = { parts, state: found.state, signal }
      const isAsked = restarts !== undefined && found.m.role === 'control_plane'
      const why = isAsked ? whyNotRestart(await etcdReports(view), nodeId) : null
      return why !== null && (await restarts!())
        ? { forbidden: why, by: [] }
        : touching(view, found.m, send, { mends: new Set(mends), ...more })
    },
    whyNotRequest: (clusterId, nodeId) => asking(clusterId, nodeId, whyNotRequest),
    whyNotRestart: (clusterId, nodeId) =>
      asking(clusterId, nodeId, async (view, { role }) =>
        role === 'control_plane' ? whyNotRestart(await etcdReports(view), nodeId) : null,
      ),
    async whyNotPowerOff(clusterId, nodeIds, signal) {
      const state = await store.load(parts.db, clusterId)
      const ids = new Set(nodeIds)
      const going = (state?.members ?? []).filter(
        (m) => m.role === 'control_plane' && m.released_at === null && ids.has(m.node_id),
      )
      if (!state || going.length === 0) return null
      const { name } = state.row
      const etcd = await etcdMembers(parts, state.members, signal)
      if (!etcd)
        return forNow(
          `No control plane of ${name} reports the members of etcd, so nobody knows whether ${going[0]!.name} is the last healthy one`,
        )
      const verdict = canBeOff(etcd, new Set(going.map((m) => m.name)), name)
      return verdict.ok ? null : verdict
    },
    async whyNotReady(clusterId, nodeId, signal) {
      const found = await placeOf(clusterId, nodeId)
      if (found === undefined || found.m.node_ready_at === null) return null
      try {
        const illnesses = await kubeletNow({ parts, state: found.state, signal }, found.m)
        if (illnesses.length > 0) return sentenceOf(illnesses)
        // What the watch read during the restart must not be a finding until its next look.
        const ready = { node_id: nodeId, ready: true, reason: null }
        await inTransaction(parts.db, (tx) => parts.servers.noteNodes(tx, clusterId, [ready]))
        return null
      } catch (error) {
        if (signal.aborted || !(error instanceof KubernetesError)) throw error
        return `The Kubernetes API does not answer: ${error.message}`
      }
    },
  }
}
