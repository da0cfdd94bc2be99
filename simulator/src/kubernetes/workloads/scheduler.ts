import { type Body, list, object, text } from '../../config/shape.ts'
import { builtIn } from '../kinds.ts'
import type { Objects } from '../objects.ts'
import { untolerated } from './budgets.ts'
import {
  isTerminating,
  labelsOf,
  nameOf,
  namespaceOf,
  nodeNameOf,
  PODS,
  podTarget,
  selects,
} from './pods.ts'

const NODES = builtIn('nodes')
const HOSTNAME = 'kubernetes.io/hostname'
/** Pods that tolerate this taint start on cordoned nodes (Kubernetes: plugins/nodeunschedulable). */
const CORDON = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' }

/**
 * Binds each pod without a node to the suitable node with the fewest pods. `isNodeReady`: whether a
 * node accepts pods.
 */
export const schedule = (objects: Objects, isNodeReady: (node: Body) => boolean): void => {
  const pods = objects.list(PODS, '')
  const waiting = pods.filter((pod) => nodeNameOf(pod) === '' && !isTerminating(pod))
  if (waiting.length === 0) return
  const nodes = objects.list(NODES, '').filter(isNodeReady)
  const bound = pods
    .filter((pod) => nodeNameOf(pod) !== '')
    .map((pod) => ({ pod, node: nodeNameOf(pod) }))
  for (const pod of waiting) {
    const [best] = nodes
      .filter((node) => fits(pod, node, bound))
      .map((node) => ({
        name: nameOf(node),
        load: bound.filter((entry) => entry.node === nameOf(node)).length,
      }))
      .toSorted((one, other) => one.load - other.load || (one.name < other.name ? -1 : 1))
    if (!best) {
      showUnschedulable(objects, pod)
      continue
    }
    objects.bind(podTarget(pod), best.name)
    bound.push({ pod, node: best.name })
  }
}

const fits = (pod: Body, node: Body, bound: readonly { pod: Body; node: string }[]): boolean => {
  const { nodeSelector, tolerations, affinity } = object(pod.spec)
  if (!Object.entries(object(nodeSelector)).every(([key, value]) => labelsOf(node)[key] === value))
    return false
  const { taints, unschedulable } = object(node.spec)
  if (untolerated(taints, tolerations).length > 0) return false
  if (unschedulable === true && untolerated([CORDON], tolerations).length > 0) return false
  // Only anti-affinity between hosts: other topologies don't exist here.
  const terms = list(
    object(object(affinity).podAntiAffinity).requiredDuringSchedulingIgnoredDuringExecution,
  )
    .map(object)
    .filter(({ topologyKey }) => topologyKey === HOSTNAME)
  return terms.every(({ labelSelector }) => {
    const isAvoided = selects(labelSelector)
    return !bound.some(
      (other) =>
        other.node === nameOf(node) &&
        namespaceOf(other.pod) === namespaceOf(pod) &&
        isAvoided(labelsOf(other.pod)),
    )
  })
}

const showUnschedulable = (objects: Objects, pod: Body): void => {
  const message =
    'no node is available: nodes are not ready, are unschedulable, have taints that the pod does not tolerate, or do not match the pod'
  const conditions = [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message }]
  objects.updateStatus(
    podTarget(pod),
    { ...object(pod.status), phase: text(object(pod.status).phase) || 'Pending', conditions },
    'kube-scheduler',
  )
}
