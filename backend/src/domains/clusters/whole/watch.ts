/** Watches a ready cluster and notes its problem, which findings are judged from. */
import type { Outcome } from '../../../engine/engine.ts'
import { KubernetesError, type KubernetesNode } from '../../../kubernetes/answers.ts'
import type { Kubernetes } from '../../../kubernetes/client.ts'
import {
  controlPlanesOf,
  factsOf,
  isOwnDelay,
  kubernetesOf,
  removeFromEtcd,
  removeFromKubernetes,
  type UnreadyPod,
  unreadyPods,
} from '../../control-planes/api.ts'
import { listed } from '../../../sentences.ts'
import * as store from '../store.ts'
import { change, type ClusterTurn, write } from './cluster-run.ts'

/**
 * Interval of checks, in ms. A cluster is degraded only after two failures in a row, so one lost
 * packet has no effect.
 */
export const watchMs = 7_000
const missesUntilDegraded = 2
const soonMs = 1_500

/** Whether a server has answered with its configuration, so that it may have started to join. */
export const leftTraces = (m: store.MemberRow): boolean =>
  m.secured_at !== null || m.etcd_at !== null || m.node_ready_at !== null

type Nodes = ReadonlyMap<string, KubernetesNode>

/**
 * A server that is still joining a ready cluster is not a problem of the cluster: the change that
 * adds it shows its progress.
 */
const hasJoined = (m: store.MemberRow): boolean => store.isWanted(m) && m.node_ready_at !== null

/**
 * The state of each joined server in Kubernetes; unknown, with the reason `problem`, if Kubernetes
 * didn't answer.
 */
const joinedNodes = (state: store.State, nodes: Nodes | null, problem: string | null) =>
  state.members.filter(hasJoined).map((m) => {
    if (nodes === null) return { node_id: m.node_id, ready: null, reason: problem }
    const node = nodes.get(m.name)
    return {
      node_id: m.node_id,
      ready: node?.ready === true,
      reason: node === undefined ? `Kubernetes has no node ${m.name}` : node.reason,
    }
  })

/** Notes the problem of the cluster with its reason, or that it has none. */
export async function watch(turn: ClusterTurn): Promise<Outcome> {
  const { state } = turn
  const seen = await health(turn)
  // Nothing is known: what was known before stands.
  if (seen === null) return { againMs: watchMs }
  const { verdict, problem, nodes } = seen
  // The count is capped, so that the row of a degraded cluster doesn't change with every failed
  // check.
  const misses = verdict === null ? 0 : Math.min(state.row.misses + 1, missesUntilDegraded)
  const isDegraded = misses >= missesUntilDegraded
  await write(turn, async (tx) => {
    if (nodes !== null || isDegraded)
      await turn.parts.servers.noteNodes(tx, state.row.id, joinedNodes(state, nodes, verdict))
    await change(turn, tx, {
      misses,
      ...(verdict === null
        ? { status: 'ready' as const, reason: null, problem: null, problem_since: null }
        : isDegraded
          ? {
              reason: verdict,
              ...(problem === state.row.problem
                ? {}
                : { problem, problem_since: new Date(turn.job.now()) }),
            }
          : {}),
    })
  })
  // Checks again soon after the first failure, so that a real problem is shown within seconds, but
  // a lost packet isn't.
  return { againMs: misses === 1 ? soonMs : watchMs }
}

/** The first of these servers that has fallen silent after a change, with the sentence, or null. */
async function silentAmong(
  { parts }: ClusterTurn,
  members: readonly store.MemberRow[],
): Promise<{ readonly name: string; readonly silence: string } | null> {
  for (const { name, silence } of await factsOf(parts, parts.db, members))
    if (silence !== null) return { name, silence }
  return null
}

interface Health {
  /** The cluster's problem in a sentence, or null. */
  readonly verdict: string | null
  readonly problem: store.ClusterRow['problem']
  /** Its nodes, if Kubernetes answered. */
  readonly nodes: Nodes | null
}

/** Null if our own delay after a start explains that the API did not answer. */
async function health(turn: ClusterTurn): Promise<Health | null> {
  const { parts, job, state } = turn
  try {
    const left = await removeGone(turn)
    const api = await kubernetesOf(parts, state)
    const nodes: Nodes = new Map((await api.nodes(job.signal)).map((n) => [n.name, n]))
    if (left !== null) return { verdict: left, problem: 'former_member', nodes }
    const ill = state.members.filter((m) => hasJoined(m) && nodes.get(m.name)?.ready !== true)
    if (ill.length === 0) {
      const dead = await deadPods(turn, api)
      if (dead.length === 0) return { verdict: null, problem: null, nodes }
      const isApi = dead.every(({ component }) => component === 'kube-apiserver')
      return {
        verdict: listed(dead.map(({ why }) => why)),
        problem: isApi ? 'api_server' : 'components',
        nodes,
      }
    }
    const silent = await silentAmong(turn, ill)
    const why = silent?.silence ?? nodes.get(ill[0]!.name)?.reason
    return {
      verdict: `${listed(ill.map((m) => m.name))} ${ill.length === 1 ? 'is' : 'are'} not Ready${why ? `: ${why}` : ''}`,
      problem: 'nodes',
      nodes,
    }
  } catch (error) {
    if (!(error instanceof KubernetesError)) throw error
    const silent = await silentAmong(turn, controlPlanesOf(state.members))
    if (silent === null && isOwnDelay(error, job.upMs())) return null
    const tail = silent === null ? '' : `. ${silent.name}: ${silent.silence}`
    return {
      verdict: `The Kubernetes API does not answer: ${error.message}${tail}`,
      problem: 'api',
      nodes: null,
    }
  }
}

/** A component that starts isn't ready for a while, also in a change. */
const startsForMs = 2 * 60_000

/** The components of the control planes that don't run. */
async function deadPods({ job, state }: ClusterTurn, api: Kubernetes): Promise<UnreadyPod[]> {
  const names = new Set(state.members.filter(hasJoined).map((m) => m.name))
  return (await unreadyPods(api, job.signal)).filter(
    ({ node, isDead, sinceMs }) =>
      names.has(node) && (isDead || (sinceMs !== null && job.now() - sinceMs > startsForMs)),
  )
}

/**
 * Removes replaced and force-removed servers from etcd and Kubernetes, even before they can be
 * reset: etcd accepts one new member at a time, so a dead learner would block all others. Returns
 * what remains and why, or null.
 */
export async function removeGone(turn: ClusterTurn): Promise<string | null> {
  const { parts, job, state } = turn
  if (state.row.control_plane_at === null) return null
  const leavers = state.members.filter((m) => m.wanted === 'released')
  // Servers with their own operation are removed by their own reconciler. A replaced server may
  // have joined etcd without Steelyard noticing.
  for (const m of leavers.filter(
    (one) => one.released_at === null && one.operation_id === null && one.send_intent_at !== null,
  )) {
    const inEtcd = await removeFromEtcd(parts, job, state, m, { onlyDead: true })
    if (inEtcd !== null) return `${m.name} was replaced, but is still a member of etcd. ${inEtcd}`
  }
  for (const m of leavers.filter((one) => one.released_at !== null && leftTraces(one))) {
    const inEtcd = await removeFromEtcd(parts, job, state, m)
    if (inEtcd !== null) return `${m.name} is gone, but still a member of etcd. ${inEtcd}`
    const inKubernetes = await removeFromKubernetes(parts, job, state, m)
    if (inKubernetes !== null) return inKubernetes
    await write(turn, (tx) =>
      store.updateMember(tx, m.cluster_id, m.node_id, {
        secured_at: null,
        etcd_at: null,
        node_ready_at: null,
      }),
    )
  }
  return null
}
