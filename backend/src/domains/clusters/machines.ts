/** What configurations asks about the machines of clusters. */
import type { ClusterSide } from '../configurations/api.ts'
import { etcdReports } from './change/shared/etcd.ts'
import { whyNotRestart } from './change/shared/strangers.ts'
import { touching, whyNotRequest } from './control-planes/touching.ts'
import { demandUnheld } from './held/held.ts'
import { outside } from './outside.ts'
import type { CoreParts } from './parts.ts'
import * as store from './store.ts'

/** Time limit in ms of asking all control planes while a user waits. */
const askMs = 15_000

export function clusterMachines(parts: CoreParts): ClusterSide {
  const placeOf = async (clusterId: string, nodeId: string) => {
    const state = await store.load(parts.db, clusterId)
    const m = state?.members.find((one) => one.node_id === nodeId && store.isWanted(one))
    return state && m && { state, m }
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
      const isAsked = restarts === true && found.m.role === 'control_plane'
      const why = isAsked ? whyNotRestart(await etcdReports(view), nodeId) : null
      return why === null
        ? touching(view, found.m, send, { mends: new Set(mends), ...more })
        : { forbidden: why, by: [] }
    },
    async whyNotRequest(clusterId, nodeId) {
      const found = await placeOf(clusterId, nodeId)
      if (found === undefined) return null
      const signal = AbortSignal.timeout(askMs)
      try {
        return await whyNotRequest({ parts, state: found.state, signal }, found.m)
      } catch (error) {
        if (!signal.aborted) throw error
        return `They have not answered within ${askMs / 1000} s`
      }
    },
  }
}
