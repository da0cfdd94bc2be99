/** What becomes of drained servers when their change fails: they run workload again if they can. */
import { stageSaid } from '#contract/servers/server.ts'
import { Problem } from '#contract/errors.ts'
import type { Step } from '#contract/operations.ts'
import { TalosError } from '#talos/client/errors.ts'
import type { Stage } from '#talos/client/events.ts'
import { readStatus } from '#talos/client/inventory.ts'
import { KubernetesError } from '../../../kubernetes/answers.ts'
import { isOurCordon, nodePath } from '../../control-planes/api.ts'
import type { MemberRow } from '../../clusters/api.ts'
import { type ChangeTurn, kubernetes, prefixOf, talos, write } from '../frame.ts'
import { uncordon } from './drain.ts'

const isOver = (step: Step | undefined): boolean =>
  step?.status === 'done' || step?.status === 'skipped'

/** Steps `drain/…` that have begun, of servers that don't run workload again yet. */
const drainsOf = ({ steps }: ChangeTurn['operation']): Step[] =>
  steps.filter(
    (s) =>
      prefixOf(s.key) === 'drain' &&
      s.attempt > 0 &&
      !isOver(steps.find((one) => one.key === s.key.replace('drain', 'uncordon'))),
  )

/** A server that was told to wipe itself doesn't run workload again: the wipe may still happen. */
const stays = (m: MemberRow | undefined): m is MemberRow =>
  m !== undefined && m.released_at === null && m.reset_intent_at === null && m.wiped_at === null

/** Steps that may restart a machine that stays in its cluster. */
const restarts: ReadonlySet<string> = new Set([
  'upgrade',
  'rollback',
  'configure',
  'switch',
  'withdraw',
])
const mayHaveRestarted = ({ operation }: ChangeTurn, nodeId: string): boolean =>
  operation.steps.some(
    (s) => s.node_id === nodeId && s.attempt > 0 && restarts.has(prefixOf(s.key)),
  )

const lookDeadlineMs = 5_000
/** Stages in which a machine stops its kubelet, or has stopped it. */
const stopping: ReadonlySet<Stage> = new Set([
  'rebooting',
  'shutting_down',
  'resetting',
  'upgrading',
])

/**
 * Why the machine can't run workload although Kubernetes calls its node Ready, else null.
 * Kubernetes notices after 40 s or more that a kubelet has stopped (Kubernetes,
 * kube-controller-manager: node-monitor-grace-period).
 */
async function whyStopped(turn: ChangeTurn, nodeId: string): Promise<string | null> {
  try {
    const { stage } = await talos(turn, nodeId, readStatus, lookDeadlineMs)
    return stopping.has(stage) ? `it is ${stageSaid(stage)}` : null
  } catch (error) {
    if (turn.job.signal.aborted || !(error instanceof TalosError || error instanceof Problem))
      throw error
    return `it does not answer: ${error.message}`
  }
}

/**
 * Why the server stays cordoned; null if it runs workload again, or if it isn't Steelyard that has
 * cordoned it.
 */
async function resume(
  turn: ChangeTurn,
  drain: Step,
  name: string,
  isUnharmed: boolean,
): Promise<string | null> {
  const { job, operation, parts } = turn
  try {
    const api = await kubernetes(turn)
    if (!isOurCordon(await api.get(nodePath(name), job.signal))) return null
    const node = (await api.nodes(job.signal)).find((n) => n.name === name)
    if (node?.ready !== true && !isUnharmed)
      return `it is not Ready${node?.reason ? `: ${node.reason}` : ''}`
    const why =
      !isUnharmed && mayHaveRestarted(turn, drain.node_id!)
        ? await whyStopped(turn, drain.node_id!)
        : null
    if (why !== null) return why
    // Written before the node is uncordoned, so that a retry, or a run after a crash, drains it
    // again; also one that was not drained because it was not Ready.
    if (isOver(drain))
      await write(turn, (tx) =>
        parts.operations.step(tx, operation.id, drain.key, { status: 'todo', reason: null }),
      )
    await uncordon(turn, { nodeId: drain.node_id })
    return null
  } catch (error) {
    if (job.signal.aborted || !(error instanceof KubernetesError || error instanceof Problem))
      throw error
    return `the Kubernetes API does not answer as expected: ${error.message}`
  }
}

/**
 * Lets the servers that a failed change has drained run workload again. `unharmed`: a server that
 * runs as before the change; Kubernetes itself waits until it is Ready. Returns what to do about a
 * server that stays cordoned, else null.
 */
export async function resumeWorkload(
  turn: ChangeTurn,
  unharmed: string | null,
): Promise<string | null> {
  const left: string[] = []
  for (const drain of drainsOf(turn.operation)) {
    const m = turn.state.members.find((one) => one.node_id === drain.node_id)
    const why = stays(m) ? await resume(turn, drain, m.name, m.node_id === unharmed) : null
    if (why !== null)
      left.push(
        `${m!.name} stays cordoned until a retry or kubectl uncordon ${m!.name}, because ${why.replace(/\.$/, '')}`,
      )
  }
  return left.length === 0 ? null : left.join('. ')
}
