/**
 * The drain of a server that leaves. Its pods end at the latest with its reset, so it doesn't wait
 * for ever for a kubelet that has stopped.
 */
import { isRecord, readNode } from '../../../kubernetes/answers.ts'
import { nodePath } from '../../control-planes/api.ts'
import {
  type ChangeTurn,
  kubernetes,
  memberOf,
  type StepAt,
  type StepResult,
  type Waiting,
  waitedMs,
} from '../frame.ts'
import { drain } from '../shared/drain.ts'

/**
 * How long in ms the drain of a node that is not Ready waits, and how long the node must have been
 * so. After this time Kubernetes itself evicts pods from such a node (`defaultTolerationSeconds`).
 */
const unreadyMs = 5 * 60_000

/** Since when a node is not Ready, with the reason; null if it is Ready. @throws KubernetesError */
function unreadyOf(node: unknown): { readonly reason: string; readonly since: string } | null {
  const { reason } = readNode(node)
  if (reason === null) return null
  const status = isRecord(node) && isRecord(node['status']) ? node['status'] : {}
  const conditions = Array.isArray(status['conditions']) ? (status['conditions'] as unknown[]) : []
  const ready = conditions.filter(isRecord).find(({ type }) => type === 'Ready')
  const since = ready?.['lastTransitionTime']
  return { reason: reason.replace(/\.$/, ''), since: typeof since === 'string' ? since : '' }
}

/**
 * Decides whether to keep waiting for the drain of this node (core/v1 Node) or to skip it. Only the
 * kubelet ends pods, so those of a node without one stay until the node is deleted (Kubernetes, "Pod
 * Lifecycle"; kubernetes-sigs/cluster-api#2998). `waited` is in ms, as is what `elapsed` returns.
 * Pure.
 */
export function withoutKubelet(
  wait: Waiting,
  node: unknown,
  { waited, elapsed }: { readonly waited: number; readonly elapsed: (since: number) => number },
): StepResult {
  const unready = unreadyOf(node)
  if (unready === null) return wait
  const why = `The node is not Ready: ${unready.reason}`
  const at = Date.parse(unready.since)
  // One that has been Ready a moment ago may be so again.
  const isLong = !Number.isNaN(at) && elapsed(at) > unreadyMs
  return isLong && waited > unreadyMs
    ? { skipped: `${why}. Its pods do not end, and leave the cluster with the node` }
    : {
        ...wait,
        waiting: `${wait.waiting}. ${why}, so its pods may never end. If it stays so for 5 minutes, the server leaves without them`,
      }
}

/** Step `drain/<node id>` of a server that leaves. */
export async function drainLeaving(turn: ChangeTurn, at: StepAt): Promise<StepResult> {
  const result = await drain(turn, at)
  if (typeof result !== 'object' || !('waiting' in result)) return result
  const { job } = turn
  const { name } = memberOf(turn, at.nodeId!)
  const node = await (await kubernetes(turn)).get(nodePath(name), job.signal)
  return node === null
    ? result
    : withoutKubelet(result, node, {
        waited: waitedMs(job, at.step),
        elapsed: (since) => job.elapsedMs(since),
      })
}
