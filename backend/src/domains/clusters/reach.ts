/** Access to a cluster: its Kubernetes API and its etcd through the control planes. */
import { Problem } from '#contract/errors.ts'
import { TalosError } from '#talos/client/errors.ts'
import type { EtcdMember, TalosClient } from '#talos/client/client.ts'
import type { EtcdMembers } from './leave/decide-leaving.ts'
import type { State } from './facts.ts'
import { type Kubernetes, kubernetes, type KubernetesTarget } from '../../kubernetes/client.ts'
import type { CoreParts } from './core.ts'
import type { ClusterSecrets } from './secrets.ts'
import type * as store from './store.ts'

/** Limit in ms for each call and for all calls to one control plane. A slower one counts as silent. */
const etcdDeadlineMs = 5_000
const etcdWholeMs = 8_000

export interface Reach {
  api(state: State): Promise<Kubernetes>
  /**
   * Members of etcd and who of them is healthy; null where no control plane can tell. `except` is not asked. A member that was added and has never started has no
   * name in etcd: it is given that of the server at its address.
   */
  etcd(members: readonly store.MemberRow[], signal: AbortSignal, except?: string): Promise<EtcdMembers | null>
  /** Removes a member from etcd through another control plane. Safe to repeat. @throws TalosError, Problem */
  removeEtcdMember(members: readonly store.MemberRow[], nodeId: string, etcdId: string, signal: AbortSignal): Promise<void>
}

/** Host of `https://10.0.0.3:2380`; '' if it is no URL. */
const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).hostname.replace(/^\[(.*)\]$/, '$1') : '')

export function reach({ db, servers, dial }: Pick<CoreParts, 'db' | 'servers' | 'dial'>, secrets: ClusterSecrets): Reach {
  const targetsOf = async (state: State): Promise<KubernetesTarget[]> => {
    const controlPlanes = state.members.filter((m) => m.role === 'control_plane' && m.secured_at !== null && m.wanted === 'joined' && m.released_at === null)
    const facts = await servers.forPlan(
      db,
      controlPlanes.map((m) => m.node_id),
    )
    return facts.map((f) => ({ name: f.name, address: f.address }))
  }

  const secure = async <T>(m: store.MemberRow, act: (client: TalosClient) => Promise<T>, signal: AbortSignal): Promise<T> =>
    (await servers.connection(m.node_id)).secure((await secrets.talosAdmin(m.cluster_id))!, act, { signal, deadlineMs: etcdDeadlineMs })

  const namesByAddress = async (members: readonly store.MemberRow[]): Promise<Map<string, string>> => {
    const names = new Map<string, string>()
    for (const m of members) {
      const address = await servers.connection(m.node_id).then(
        (connection) => connection.address,
        () => undefined,
      )
      if (address !== undefined) names.set(address, m.name)
    }
    return names
  }

  /** The answer of one control plane, or undefined. */
  const told = async (m: store.MemberRow, signal: AbortSignal) => {
    try {
      return await secure(
        m,
        async (client) => {
          const etcd = (await client.services()).find((s) => s.id === 'etcd')
          const healthy = etcd?.state === 'Running' && etcd.healthy === true
          return { healthy, members: healthy ? await client.etcdMembers().catch(() => []) : [] }
        },
        AbortSignal.any([signal, AbortSignal.timeout(etcdWholeMs)]),
      )
    } catch (error) {
      if (signal.aborted) throw error
      return { healthy: false, members: [] }
    }
  }

  return {
    api: async (state) => kubernetes(await targetsOf(state), (await secrets.kubernetesAdmin(state.row.id))!, dial),

    async etcd(members, signal, except) {
      const asked = members.filter((m) => m.role === 'control_plane' && m.secured_at !== null && m.released_at === null && m.node_id !== except)
      const answers = await Promise.all(asked.map(async (m) => ({ name: m.name, ...(await told(m, signal)) })))
      const list = answers.find((a) => a.members.length > 0)?.members
      if (!list) return null
      const names = list.some((e) => e.hostname === '') ? await namesByAddress(members) : new Map<string, string>()
      const nameOf = (e: EtcdMember) => e.hostname || (e.peerUrls.map((url) => names.get(hostOf(url))).find((name) => name !== undefined) ?? '')
      return {
        members: list.map((e) => ({ id: e.id, name: nameOf(e), learner: e.learner })),
        healthy: new Set(answers.filter((a) => a.healthy).map((a) => a.name)),
      }
    },

    async removeEtcdMember(members, nodeId, etcdId, signal) {
      const staying = members.filter(
        (m) => m.role === 'control_plane' && m.secured_at !== null && m.wanted === 'joined' && m.released_at === null && m.node_id !== nodeId,
      )
      let last: Error = new TalosError('unavailable', 'the cluster has no other control plane')
      for (const m of staying) {
        try {
          return await secure(m, (client) => client.etcdRemoveMember(etcdId), signal)
        } catch (error) {
          if (signal.aborted || !(error instanceof TalosError || error instanceof Problem)) throw error
          // Removed a moment ago, by the machine itself or by a call whose answer was lost.
          if (error instanceof TalosError && error.kind === 'not_found') return
          last = error
        }
      }
      throw last
    },
  }
}
