import { type Body, object, text } from '../../config/shape.ts'
import { waitingOf } from '../../machine/kubelet/pod-status.ts'
import { POD_ANNOTATIONS } from '../../machine/machine.ts'
import type { World } from '../../world.ts'
import { apiVersionOf, builtIn, type ResourceKind } from '../kinds.ts'
import { heartbeatOf, reporterOf } from '../nodes.ts'
import type { Objects } from '../objects.ts'
import type { Target } from '../kinds.ts'
import { notFound } from '../refusal.ts'

/** The read side of `Objects`. */
export interface Source extends Pick<Objects, 'list' | 'get' | 'resourceVersion'> {
  /** The objects that aren't stored; changes of them aren't in the history. */
  readonly reported?: (namespace: string) => Body[]
}

/**
 * The stored objects of a kind, and those that kubelets report: their leases, and the mirror pods
 * of a control plane's static pods. Reported objects aren't stored but derived from the nodes at
 * each read, so they can't be changed or deleted, and a watch compares them twice a second.
 */
export const withReported = (
  objects: Objects,
  world: World,
  { group, plural }: ResourceKind,
): Source => {
  const report =
    plural === 'leases' && group !== ''
      ? leaseOf
      : plural === 'pods' && group === ''
        ? mirrorPodsOf
        : null
  if (report === null) return objects
  const reported = (namespace: string): Body[] =>
    objects
      .list(builtIn('nodes'), '')
      .flatMap((node) => report(world, node))
      .filter(({ metadata }) => namespace === '' || object(metadata).namespace === namespace)
  return {
    resourceVersion: objects.resourceVersion,
    reported,
    list: (kind, namespace) => [...objects.list(kind, namespace), ...reported(namespace)],
    get(target: Target) {
      if (objects.has(target)) return objects.get(target)
      const found = reported(target.namespace).find(
        ({ metadata }) => object(metadata).name === target.name,
      )
      if (!found) throw notFound(group === '' ? plural : `${plural}.${group}`, target.name)
      return found
    },
  }
}

/** Metadata of the `index`th object that a node reports, with a stable UID. */
const ownedBy = (node: Body, index: number): Body => {
  const { name, uid, creationTimestamp, resourceVersion } = object(node.metadata)
  const ownerReferences = [{ apiVersion: 'v1', kind: 'Node', name, uid }]
  return {
    uid: text(uid).replace(/^.{8}/, String(index).padStart(8, '0')),
    creationTimestamp,
    resourceVersion,
    ownerReferences,
  }
}

const leaseOf = (world: World, node: Body): Body[] => {
  const { name } = object(node.metadata)
  // A MicroTime (Kubernetes: apimachinery/pkg/apis/meta/v1/micro_time.go).
  const renewTime = heartbeatOf(world, node).replace(/Z$/, '000Z')
  return [
    {
      kind: 'Lease',
      apiVersion: 'coordination.k8s.io/v1',
      metadata: { name, namespace: 'kube-node-lease', ...ownedBy(node, 0) },
      spec: { holderIdentity: name, leaseDurationSeconds: 40, renewTime },
    },
  ]
}

/**
 * Mirror pods with Talos's labels (Talos: controllers/k8s/control_plane_static_pod.go). `kubectl
 * drain` skips pods with `kubernetes.io/config.mirror`.
 */
const mirrorPodsOf = (world: World, node: Body): Body[] => {
  const { machine, isAlive } = reporterOf(world, node)
  if (machine?.config?.node?.role !== 'controlplane') return []
  const nodeName = text(object(node.metadata).name)
  return [...machine.staticPods.values()].map((pod, index) => {
    const { name, image, isPullFailing, runs } = pod
    const owned = ownedBy(node, index + 1)
    const startedAt = new Date(pod.startedAt).toISOString().replace(/\.\d+Z$/, 'Z')
    const ready = isAlive && pod.ready
    const conditions = ['PodScheduled', 'Initialized', 'ContainersReady', 'Ready'].map(
      (type, order) => ({
        type,
        status: ready || order < 2 ? 'True' : 'False',
        lastTransitionTime: startedAt,
      }),
    )
    return {
      kind: 'Pod',
      apiVersion: apiVersionOf(builtIn('pods')),
      metadata: {
        name: `${name}-${nodeName}`,
        namespace: 'kube-system',
        labels: {
          tier: 'control-plane',
          'k8s-app': name,
          component: name,
          'app.kubernetes.io/name': name,
          'app.kubernetes.io/component': 'control-plane',
        },
        annotations: {
          'kubernetes.io/config.mirror': owned.uid,
          'kubernetes.io/config.source': 'file',
          ...Object.fromEntries(
            POD_ANNOTATIONS.map((what) => [
              `talos.dev/${what}-version`,
              String(runs[what].version),
            ]),
          ),
        },
        ...owned,
      },
      spec: {
        nodeName,
        hostNetwork: true,
        priority: 2_000_000_000,
        priorityClassName: 'system-cluster-critical',
        containers: [{ name, image }],
      },
      status: {
        phase: isPullFailing || !pod.ready ? 'Pending' : 'Running',
        hostIP: machine.plan.address,
        podIP: machine.plan.address,
        startTime: startedAt,
        conditions,
        containerStatuses: [
          {
            name,
            image,
            ready,
            started: ready,
            restartCount: 0,
            state: pod.ready ? { running: { startedAt } } : { waiting: waitingOf(pod) },
          },
        ],
      },
    }
  })
}
