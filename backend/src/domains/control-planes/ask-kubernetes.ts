/** Reads the state of API servers, nodes and pods from a cluster's Kubernetes. */
import { OutOfTime } from '#contract/connections/causes.ts'
import type { ClusterHealth, NodeHealth } from '#contract/clusters/health.ts'
import type { Clock } from '../../clock.ts'
import type { Kubernetes, KubernetesTarget } from '../../kubernetes/client.ts'
import { isRecord, KubernetesError, printable, within } from '../../kubernetes/answers.ts'
import { type UnreadyPod, unreadyPods } from './pods.ts'
import { isCordoned, isOurCordon } from './kubernetes.ts'
import type { Member } from './view.ts'

/** Time limit of each call, in ms. */
const wholeMs = 4_000
/**
 * More pods than Kubernetes supports in one cluster (kubernetes.io, "Considerations for large
 * clusters").
 */
export const mostPods = 150_000
const mostNodes = 5_000

/**
 * The first minutes of this process, in ms since its start. It contacts everything at once then, and
 * may itself be slow.
 */
const startingMs = 180_000

/**
 * Whether an error says nothing about the other side: our own time limit has ended the wait for its
 * answer, in the first minutes after our start. A refusal or a broken connection is the other side's
 * at any time.
 * @param upMs ms since the start of this process
 */
export const isOwnDelay = (error: unknown, upMs: number): boolean =>
  upMs < startingMs && error instanceof Error && error.cause instanceof OutOfTime

/** A node as Kubernetes shows it. */
export interface SeenNode {
  readonly name: string
  readonly ready: boolean
  readonly reason: string | null
  readonly schedulable: boolean
  /** Steelyard has cordoned it. */
  readonly isOurCordon: boolean
  readonly kubelet: string | null
}

/** The value, or why it could not be read. */
export type Heard<T> =
  | { readonly value: T; readonly failed: null }
  | { readonly value: null; readonly failed: string; readonly isOwnDelay: boolean }

async function heard<T>(
  signal: AbortSignal,
  ask: (signal: AbortSignal) => Promise<T>,
  upMs = Infinity,
): Promise<Heard<T>> {
  try {
    return { value: await within(signal, wholeMs, ask), failed: null }
  } catch (error) {
    signal.throwIfAborted()
    if (!(error instanceof KubernetesError)) throw error
    return { value: null, failed: error.message, isOwnDelay: isOwnDelay(error, upMs) }
  }
}

/** What one API server answered, and how long that took in ms; null unless it is ready. */
interface ApiServerReport {
  readonly state: ClusterHealth['kubernetes_api'][number]
  readonly ms: number | null
  /** It was late in the first minutes after our start (`isOwnDelay`). */
  readonly isOwnDelay: boolean
}

export const askApiServers = (
  client: Kubernetes,
  targets: readonly (KubernetesTarget & { id: string })[],
  { signal, clock }: { signal: AbortSignal; clock: Pick<Clock, 'monotonic'> },
) =>
  Promise.all(
    targets.map(async (target): Promise<ApiServerReport> => {
      const began = clock.monotonic()
      const answer = await heard(signal, (limit) => client.readyz(target, limit), began)
      const ready = answer.failed === null
      const state = { node_id: target.id, name: target.name, ready, reason: answer.failed }
      return {
        state,
        ms: ready ? clock.monotonic() - began : null,
        isOwnDelay: answer.failed !== null && answer.isOwnDelay,
      }
    }),
  )

export const askNodes = (client: Kubernetes, signal: AbortSignal): Promise<Heard<SeenNode[]>> =>
  heard(
    signal,
    async (limit) =>
      (await client.list('/api/v1/nodes', { most: mostNodes, keep: readNode }, limit)) ?? [],
  )

/** Static pods of the control planes that are not ready. */
export const askControlPlanes = (
  client: Kubernetes,
  signal: AbortSignal,
): Promise<Heard<UnreadyPod[]>> => heard(signal, (limit) => unreadyPods(client, limit))

/** Number of pods by node, without pods that have finished. */
export const askPods = (
  client: Kubernetes,
  signal: AbortSignal,
): Promise<Heard<ReadonlyMap<string, number>>> =>
  heard(signal, async (limit) => {
    const names =
      (await client.list('/api/v1/pods', { most: mostPods, keep: nodeOfPod }, limit)) ?? []
    const counts = new Map<string, number>()
    for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
    return counts
  })

const text = (value: unknown): string | null =>
  typeof value === 'string' && value !== '' ? printable(value) : null

/** core/v1 Node: spec.unschedulable, status.conditions, status.nodeInfo. */
function readNode(object: unknown): SeenNode | undefined {
  if (!isRecord(object) || !isRecord(object['metadata'])) return undefined
  const name = text(object['metadata']['name'])
  if (name === null) return undefined
  const status = isRecord(object['status']) ? object['status'] : {}
  const conditions = Array.isArray(status['conditions']) ? (status['conditions'] as unknown[]) : []
  const ready = conditions.find(
    (c): c is Record<string, unknown> => isRecord(c) && c['type'] === 'Ready',
  )
  const isReady = ready?.['status'] === 'True'
  const said = [text(ready?.['reason']), text(ready?.['message'])]
    .filter((part) => part !== null)
    .join(': ')
  const info = isRecord(status['nodeInfo']) ? status['nodeInfo'] : {}
  return {
    name,
    ready: isReady,
    reason: isReady ? null : said || 'it has not reported yet',
    schedulable: !isCordoned(object),
    isOurCordon: isOurCordon(object),
    kubelet: text(info['kubeletVersion'])?.replace(/^v/, '') ?? null,
  }
}

/** core/v1 Pod: Succeeded and Failed pods have finished (kubernetes.io, "Pod Lifecycle"). */
function nodeOfPod(object: unknown): string | undefined {
  if (!isRecord(object) || !isRecord(object['spec'])) return undefined
  const phase = isRecord(object['status']) ? object['status']['phase'] : undefined
  return phase === 'Succeeded' || phase === 'Failed'
    ? undefined
    : (text(object['spec']['nodeName']) ?? undefined)
}

type Server = Pick<Member, 'node_id' | 'name' | 'role'> & {
  readonly talos_version: string | null
}

/**
 * The servers of the cluster with their nodes, then nodes without a server in the cluster. Pure.
 */
export function nodesHealth(
  servers: readonly Server[],
  nodes: Heard<readonly SeenNode[]>,
  pods: Heard<ReadonlyMap<string, number>>,
): NodeHealth[] {
  const byName = new Map((nodes.value ?? []).map((n) => [n.name, n]))
  const seenOf = (name: string) => {
    const node = byName.get(name)
    return {
      schedulable: node?.schedulable ?? null,
      kubelet_version: node?.kubelet ?? null,
      pods: pods.value === null || node === undefined ? null : (pods.value.get(name) ?? 0),
    }
  }
  const ours = servers.map(({ node_id, name, role, talos_version }) => {
    const node = byName.get(name)
    const ready = nodes.failed !== null ? null : node?.ready === true
    const reason =
      nodes.failed ?? (node === undefined ? 'Kubernetes has no such node' : node.reason)
    return { node_id, name, role, ready, reason, talos_version, ...seenOf(name) }
  })
  const known = new Set(servers.map((s) => s.name))
  const others = [...byName.values()].filter((n) => !known.has(n.name))
  return [
    ...ours,
    ...others.map(({ name, ready, reason }) => ({
      node_id: null,
      name,
      role: null,
      ready,
      reason: `No server of the cluster has this name${reason === null ? '' : `: ${reason}`}`,
      talos_version: null,
      ...seenOf(name),
    })),
  ]
}
