/** A cluster that was ready: whether it still is, and why not. */
import type { Job, Outcome } from '../../engine/engine.ts'
import type { ClusterRun } from './cluster-run.ts'
import type { State } from './facts.ts'
import { forgetting } from './forgetting.ts'
import { KubernetesError } from './kubernetes.ts'
import { listed } from './sentences.ts'
import * as store from './store.ts'

/** A cluster that is ready is looked at this often; two misses in a row make it degraded, so that one lost packet doesn't. */
export const watchMs = 7_000
const missesUntilDegraded = 2
const soonMs = 1_500

export function watching({ write, change, api, reached }: ClusterRun) {
  const forget = forgetting(reached)
  /** ready ↔ degraded, with the reason. */
  const watch = async (job: Job, state: State): Promise<Outcome> => {
    const verdict = await health(job, state)
    const misses = verdict === null ? 0 : state.row.misses + 1
    const isDegraded = misses >= missesUntilDegraded
    await write(job, (tx) =>
      change(tx, state, {
        misses,
        ...(verdict === null ? { status: 'ready' as const, reason: null } : isDegraded ? { status: 'degraded' as const, reason: verdict } : {}),
      }),
    )
    // Soon again after the first miss, so that trouble is told of within seconds and a lost packet isn't.
    return { againMs: misses === 1 ? soonMs : watchMs }
  }

  const health = async (job: Job, state: State): Promise<string | null> => {
    try {
      const left = await forgetGone(job, state)
      if (left !== null) return left
      const nodes = new Map((await (await api(state)).nodes(job.signal)).map((n) => [n.name, n]))
      const ill = state.members.filter((m) => m.wanted === 'joined' && m.released_at === null && nodes.get(m.name)?.ready !== true)
      if (ill.length === 0) return null
      const why = nodes.get(ill[0]!.name)?.reason
      return `${listed(ill.map((m) => m.name))} ${ill.length === 1 ? 'is' : 'are'} not Ready${why ? `: ${why}` : ''}`
    } catch (error) {
      if (!(error instanceof KubernetesError)) throw error
      return `The Kubernetes API does not answer: ${error.message}`
    }
  }

  /** A server that was replaced, or removed by force, leaves etcd and Kubernetes too. Answers what of it is still there and why, or null. */
  const forgetGone = async (job: Job, state: State): Promise<string | null> => {
    if (state.row.control_plane_at === null) return null
    const gone = state.members.filter((m) => m.wanted === 'released' && m.released_at !== null && (m.node_ready_at !== null || m.etcd_at !== null))
    for (const m of gone) {
      const inEtcd = m.etcd_at === null ? null : await forget.fromEtcd(job, state, m)
      if (inEtcd !== null) return `${m.name} is gone, but still a member of etcd. ${inEtcd}`
      const inKubernetes = await forget.fromKubernetes(job, state, m)
      if (inKubernetes !== null) return inKubernetes
      await write(job, (tx) => store.updateMember(tx, m.cluster_id, m.node_id, { etcd_at: null, node_ready_at: null }))
    }
    return null
  }

  return { watch, forgetGone }
}
