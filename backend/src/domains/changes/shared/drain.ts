/**
 * Drains and uncordons servers. Pods are evicted, so that Kubernetes respects the
 * PodDisruptionBudgets (Kubernetes, "API-initiated eviction").
 */
import { isRecord, KubernetesError, printable } from '../../../kubernetes/answers.ts'
import type { Kubernetes } from '../../../kubernetes/client.ts'
import {
  cordonedBy,
  drainEffectOf,
  hasOurMark,
  isCordoned,
  kubeletNow,
  nodePath,
  sentenceOf,
} from '../../control-planes/api.ts'
import { listed } from '../../../sentences.ts'
import {
  type ChangeTurn,
  kubernetes,
  memberOf,
  type StepAt,
  type StepResult,
  viewOf,
} from '../frame.ts'

const mostPods = 10_000
/** How many pods are evicted in one pass. */
const evictionsAtOnce = 8

export interface DrainablePod {
  readonly namespace: string
  readonly name: string
  readonly uid: string
  readonly labels: Readonly<Record<string, unknown>>
  /** True: no controller creates the pod again. */
  readonly isBare: boolean
  readonly isEnding: boolean
  /** A cordon does not keep it from starting on the node. */
  readonly ignoresCordon: boolean
  /** By the clock of the API server, in ms; NaN if unknown. */
  readonly createdMs: number
}

/** The taint of a cordoned node (Kubernetes `plugins/nodeunschedulable`). Its value is empty. */
const cordon = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' } as const

/** Whether these tolerations (core/v1) include the taint of a cordon. Pure. */
export const ignoresCordon = (tolerations: unknown): boolean =>
  Array.isArray(tolerations) &&
  (tolerations as unknown[])
    .filter(isRecord)
    .some(
      ({ key = '', operator = 'Equal', value = '', effect = '' }) =>
        (effect === '' || effect === cordon.effect) &&
        (operator === 'Exists'
          ? key === '' || key === cordon.key
          : operator === 'Equal' && key === cordon.key && value === ''),
    )

/**
 * Whether the pod replaces one that the drain has evicted. A controller creates a pod that ignores
 * the cordon again at once, often on the same node (cilium/cilium#28549, tigera/operator#2537), so a
 * drain that evicts each of them never ends. It ends when the machine restarts. Pure.
 * @param beganMs when the drain has begun
 */
export const isSuccessor = (
  pod: Pick<DrainablePod, 'isBare' | 'ignoresCordon' | 'createdMs'>,
  beganMs: number,
): boolean => pod.ignoresCordon && !pod.isBare && pod.createdMs >= beganMs

/**
 * Pods that a drain evicts: all but those of DaemonSets, static pods and pods that have ended (as
 * `kubectl drain --ignore-daemonsets` does).
 */
function drainable(object: unknown, node: string): DrainablePod | undefined {
  const { metadata, spec } = isRecord(object) ? object : {}
  if (
    !isRecord(metadata) ||
    typeof metadata['name'] !== 'string' ||
    typeof metadata['namespace'] !== 'string' ||
    typeof metadata['uid'] !== 'string'
  )
    return undefined
  if (!isRecord(spec) || spec['nodeName'] !== node) return undefined
  const effect = drainEffectOf(object)
  if (effect === 'stays' || effect === 'ended') return undefined
  return {
    namespace: metadata['namespace'],
    name: metadata['name'],
    uid: metadata['uid'],
    labels: isRecord(metadata['labels']) ? metadata['labels'] : {},
    isBare: effect === 'lost',
    isEnding: metadata['deletionTimestamp'] !== undefined,
    ignoresCordon: ignoresCordon(spec['tolerations']),
    createdMs: Date.parse(String(metadata['creationTimestamp'])),
  }
}

/** The pods that a drain of the node would evict. @throws KubernetesError */
export async function podsToDrain(
  at: Parameters<typeof kubernetes>[0],
  node: string,
  signal: AbortSignal,
): Promise<DrainablePod[]> {
  const api = await kubernetes(at)
  const options = {
    most: mostPods,
    fieldSelector: `spec.nodeName=${node}`,
    keep: (pod: unknown) => drainable(pod, node),
  }
  return (await api.list('/api/v1/pods', options, signal)) ?? []
}

type Evicted = Pick<DrainablePod, 'namespace' | 'name' | 'uid'>

/**
 * Evicts the first of these pods that can be evicted, and returns why others can't. Each pod is
 * tried, because the one that is blocked may wait for a later one: a budget of a storage system
 * opens once the pods that use its volumes have gone. @throws KubernetesError if the API server does
 * not answer
 */
export async function evictSome(
  api: Pick<Kubernetes, 'evict'>,
  pods: readonly Evicted[],
  signal: AbortSignal,
): Promise<string[]> {
  const blocked: string[] = []
  let evicted = 0
  for (const pod of pods) {
    if (evicted === evictionsAtOnce) break
    const why = await whyNotEvicted(api, pod, signal)
    if (why === null) evicted++
    else blocked.push(`${pod.namespace}/${pod.name} can't be moved: ${why}`)
  }
  return blocked
}

/** What is refused for one pod, by an admission webhook for example, says nothing about others. */
async function whyNotEvicted(
  api: Pick<Kubernetes, 'evict'>,
  { namespace, name, uid }: Evicted,
  signal: AbortSignal,
): Promise<string | null> {
  try {
    const result = await api.evict({ namespace, name, uid }, signal)
    return result === 'evicted' || result === 'gone' ? null : result.blocked
  } catch (error) {
    if (!(error instanceof KubernetesError) || error.status === undefined) throw error
    return error.message
  }
}

/** Step `drain/<node id>`: cordons the node and evicts its pods until none are left. */
export async function drain(turn: ChangeTurn, { nodeId, step }: StepAt): Promise<StepResult> {
  const { name } = memberOf(turn, nodeId!)
  const { signal } = turn.job
  const api = await kubernetes(turn)
  const node = await api.get(nodePath(name), signal)
  if (node === null) return { skipped: `Kubernetes has no node ${name}` }
  if (!isCordoned(node))
    await turn.job.effect(`cordon/${nodeId}`, () =>
      api.merge(
        nodePath(name),
        {
          metadata: { annotations: { [cordonedBy]: turn.operation.id } },
          spec: { unschedulable: true },
        },
        signal,
      ),
    )
  const beganMs = step.started_at === null ? Infinity : Date.parse(step.started_at)
  const pods = (await podsToDrain(turn, name, signal)).filter((pod) => !isSuccessor(pod, beganMs))
  if (pods.length === 0) return 'done'
  const blocked = await evictSome(
    api,
    pods.filter((p) => !p.isEnding),
    signal,
  )
  if (blocked.length > 0) return { waiting: printableList(blocked), againMs: 2_000, isSafe: true }
  return {
    waiting: `Waits for ${printableList(pods.map((p) => `${p.namespace}/${p.name}`))} to end on ${name}`,
    againMs: 500,
    isSafe: true,
  }
}

const printableList = (texts: readonly string[]): string => listed(texts.map(printable), 3)

/** Step `uncordon/<node id>`: uncordons the node if Steelyard cordoned it. */
export async function uncordon(
  turn: ChangeTurn,
  { nodeId }: Pick<StepAt, 'nodeId'>,
): Promise<StepResult> {
  const { name } = memberOf(turn, nodeId!)
  const api = await kubernetes(turn)
  const node = await api.get(nodePath(name), turn.job.signal)
  if (node === null) return { skipped: `Kubernetes has no node ${name}` }
  if (!hasOurMark(node))
    return isCordoned(node) ? { skipped: `${name} was cordoned before` } : 'done'
  await turn.job.effect(`uncordon/${nodeId}`, () =>
    api.merge(
      nodePath(name),
      { metadata: { annotations: { [cordonedBy]: null } }, spec: { unschedulable: null } },
      turn.job.signal,
    ),
  )
  return 'done'
}

/**
 * Step `node-ready/<node id>`. Kubernetes calls a node Ready for some time after its kubelet has
 * ended, so a worker's kubelet must have reported since the change. A control plane is waited for
 * by a step of its own (`gate.ts`).
 */
export async function nodeReady(turn: ChangeTurn, { nodeId }: StepAt): Promise<StepResult> {
  const m = memberOf(turn, nodeId!)
  if (m.role === 'worker') {
    const illnesses = await kubeletNow(viewOf(turn), m)
    return illnesses.length === 0 ? 'done' : { waiting: sentenceOf(illnesses) }
  }
  const { name } = m
  const node = (await (await kubernetes(turn)).nodes(turn.job.signal)).find((n) => n.name === name)
  if (node?.ready === true) return 'done'
  return {
    waiting:
      node === undefined
        ? `Kubernetes has no node ${name}`
        : `${name} is not Ready: ${node.reason}`,
  }
}
