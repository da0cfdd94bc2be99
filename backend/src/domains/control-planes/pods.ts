/** The static pods of a cluster's control planes that are not ready, from its Kubernetes API. */
import { isRecord } from '../../kubernetes/answers.ts'
import type { Kubernetes } from '../../kubernetes/client.ts'
import { type StaticPodName, staticPodNames, whyNotReady } from './judge.ts'

/** More than the pods of the largest control plane. */
const mostPods = 1_000

export interface UnreadyPod {
  /** The name of the node, which is that of the server. */
  readonly node: string
  readonly component: StaticPodName
  /** A sentence without its full stop that names the server. */
  readonly why: string
  readonly isDead: boolean
  /** Since when it is not ready, on the clock of its node, in ms; null if unknown. */
  readonly sinceMs: number | null
}

function unready(pod: unknown): UnreadyPod | undefined {
  const { metadata, spec, status } = isRecord(pod) ? pod : {}
  const node = isRecord(spec) ? spec['nodeName'] : undefined
  const name = isRecord(metadata) ? metadata['name'] : undefined
  const component = staticPodNames.find((one) => name === `${one}-${String(node)}`)
  if (typeof node !== 'string' || component === undefined) return undefined
  const found = whyNotReady(status, `${component} of ${node}`)
  return found === null ? undefined : { node, component, ...found, sinceMs: sinceOf(status) }
}

/** When the condition Ready has last changed. */
function sinceOf(status: unknown): number | null {
  const conditions: unknown = isRecord(status) ? status['conditions'] : undefined
  const ready = (Array.isArray(conditions) ? (conditions as unknown[]) : []).find(
    (c) => isRecord(c) && c['type'] === 'Ready',
  )
  const at = isRecord(ready) ? ready['lastTransitionTime'] : undefined
  const ms = typeof at === 'string' ? Date.parse(at) : Number.NaN
  return Number.isNaN(ms) ? null : ms
}

/**
 * By the label that Talos gives the static pods of a control plane (Talos
 * `controllers/k8s/control_plane_static_pod.go`). @throws KubernetesError
 */
export const unreadyPods = async (api: Kubernetes, signal: AbortSignal): Promise<UnreadyPod[]> =>
  (await api.list(
    '/api/v1/namespaces/kube-system/pods',
    { most: mostPods, labelSelector: 'tier=control-plane', keep: unready },
    signal,
  )) ?? []
