/** A cluster that was ready: whether it still is, and why not. */
import type { Job, Outcome } from '../../../engine/engine.ts'
import type { ClusterRun } from './cluster-run.ts'
import type { State } from '../facts.ts'
import { forgetting } from '../leave/forgetting.ts'
import { KubernetesError, type KubernetesNode } from '../../../kubernetes/client.ts'
import { listed } from '../sentences.ts'
import * as store from '../store.ts'

/** A cluster that is ready is looked at this often; two misses in a row make it degraded, so that one lost packet doesn't. */
export const watchMs = 7_000
const missesUntilDegraded = 2
const soonMs = 1_500

/** It has answered with its configuration, so it may have begun to join. */
export const leftTraces = (m: store.MemberRow): boolean => m.secured_at !== null || m.etcd_at !== null || m.node_ready_at !== null

type Nodes = ReadonlyMap<string, KubernetesNode>

const joined = (state: State) => state.members.filter((m) => m.wanted === 'joined' && m.released_at === null)

/** What Kubernetes says of each server that is to be in the cluster; of none where it didn't tell, for the reason `problem`. */
const joinedNodes = (state: State, nodes: Nodes | null, problem: string | null) =>
  joined(state).map((m) => {
    if (nodes === null) return { node_id: m.node_id, ready: null, reason: problem }
    const node = nodes.get(m.name)
    return { node_id: m.node_id, ready: node?.ready === true, reason: node === undefined ? `Kubernetes has no node ${m.name}` : node.reason }
  })

export function watching({ parts: { servers }, write, change, api, reached }: ClusterRun) {
  const forget = forgetting(reached)
  /** ready ↔ degraded, with the reason. */
  const watch = async (job: Job, state: State): Promise<Outcome> => {
    const { verdict, nodes } = await health(job, state)
    // Counted no further, so that the row of a cluster that stays degraded stays as it is.
    const misses = verdict === null ? 0 : Math.min(state.row.misses + 1, missesUntilDegraded)
    const isDegraded = misses >= missesUntilDegraded
    await write(job, state, async (tx) => {
      if (nodes !== null || isDegraded) await servers.noteNodes(tx, state.row.id, joinedNodes(state, nodes, verdict))
      await change(tx, state, {
        misses,
        ...(verdict === null ? { status: 'ready' as const, reason: null } : isDegraded ? { status: 'degraded' as const, reason: verdict } : {}),
      })
    })
    // Soon again after the first miss, so that trouble is told of within seconds and a lost packet isn't.
    return { againMs: misses === 1 ? soonMs : watchMs }
  }

  /** What is amiss with the cluster, or null; and its nodes, where Kubernetes told them. */
  const health = async (job: Job, state: State): Promise<{ verdict: string | null; nodes: Nodes | null }> => {
    try {
      const left = await forgetGone(job, state)
      const nodes: Nodes = new Map((await (await api(state)).nodes(job.signal)).map((n) => [n.name, n]))
      if (left !== null) return { verdict: left, nodes }
      const ill = joined(state).filter((m) => nodes.get(m.name)?.ready !== true)
      if (ill.length === 0) return { verdict: null, nodes }
      const why = nodes.get(ill[0]!.name)?.reason
      return { verdict: `${listed(ill.map((m) => m.name))} ${ill.length === 1 ? 'is' : 'are'} not Ready${why ? `: ${why}` : ''}`, nodes }
    } catch (error) {
      if (!(error instanceof KubernetesError)) throw error
      return { verdict: `The Kubernetes API does not answer: ${error.message}`, nodes: null }
    }
  }

  /**
   * A server that was replaced, or removed by force, leaves etcd and Kubernetes too, whether or not it can be reset yet: etcd takes one new member at a time, so
   * one that never became more than that would keep out all others. Answers what of it is still there and why, or null.
   */
  const forgetGone = async (job: Job, state: State): Promise<string | null> => {
    if (state.row.control_plane_at === null) return null
    const leavers = state.members.filter((m) => m.wanted === 'released')
    // One that leaves by an operation of its own sees to it itself; one that was replaced may have begun to join before anybody saw it.
    for (const m of leavers.filter((m) => m.released_at === null && m.operation_id === null && m.send_intent_at !== null)) {
      const inEtcd = await forget.fromEtcd(job, state, m, { onlyDead: true })
      if (inEtcd !== null) return `${m.name} was replaced, but is still a member of etcd. ${inEtcd}`
    }
    for (const m of leavers.filter((m) => m.released_at !== null && leftTraces(m))) {
      const inEtcd = await forget.fromEtcd(job, state, m)
      if (inEtcd !== null) return `${m.name} is gone, but still a member of etcd. ${inEtcd}`
      const inKubernetes = await forget.fromKubernetes(job, state, m)
      if (inKubernetes !== null) return inKubernetes
      await write(job, state, (tx) => store.updateMember(tx, m.cluster_id, m.node_id, { secured_at: null, etcd_at: null, node_ready_at: null }))
    }
    return null
  }

  return { watch, forgetGone }
}
