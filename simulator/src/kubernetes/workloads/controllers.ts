import { type Body, list, object, text } from '../../config/shape.ts'
import { apiVersionOf, builtIn, type ResourceKind } from '../kinds.ts'
import type { Objects } from '../objects.ts'
import { untolerated } from './budgets.ts'
import {
  controllerOf,
  createPod,
  hashOf,
  isReady,
  isTerminating,
  labelsOf,
  nameOf,
  namespaceOf,
  nodeNameOf,
  PODS,
  targetOf,
  terminate,
  uidOf,
} from './pods.ts'

const DEPLOYMENTS = builtIn('deployments')
const REPLICA_SETS = builtIn('replicasets')
const STATEFUL_SETS = builtIn('statefulsets')
const DAEMON_SETS = builtIn('daemonsets')
const NODES = builtIn('nodes')
const HASH = 'pod-template-hash'
const REVISION = 'controller-revision-hash'
const MANAGER = 'kube-controller-manager'

const replicasOf = ({ spec }: Body): number => Number(object(spec).replicas ?? 1)
const generationOf = ({ metadata }: Body): number => Number(object(metadata).generation ?? 1)
const count = <T>(items: readonly T[], holds: (item: T) => boolean): number =>
  items.filter(holds).length
const replicaCounts = (pods: readonly Body[]): Body => {
  const ready = count(pods, isReady)
  return {
    replicas: pods.length,
    ...(ready > 0 && { readyReplicas: ready, availableReplicas: ready }),
  }
}

/** The programs of `programs.ts` have their own controller. */
const isProgram = ({ spec }: Body): boolean =>
  list(object(list(object(object(object(spec).template).spec).containers)[0]).command)[0] === 'node'

/**
 * One round of the controllers of Deployments, ReplicaSets, StatefulSets and DaemonSets, and of the
 * garbage collector.
 */
export const control = (objects: Objects, now: number): void => {
  for (const deployment of objects.list(DEPLOYMENTS, ''))
    if (!isProgram(deployment)) controlDeployment(objects, deployment)
  collectGarbage(objects, now)
  const owned = byOwner(objects.list(PODS, ''))
  for (const set of objects.list(REPLICA_SETS, ''))
    controlReplicaSet(objects, set, owned.get(uidOf(set)) ?? [], now)
  for (const set of objects.list(STATEFUL_SETS, ''))
    controlStatefulSet(objects, set, owned.get(uidOf(set)) ?? [], now)
  const nodes = objects.list(NODES, '')
  for (const set of objects.list(DAEMON_SETS, ''))
    controlDaemonSet(objects, set, owned.get(uidOf(set)) ?? [], nodes, now)
}

const byOwner = (bodies: readonly Body[]): Map<string, Body[]> => {
  const found = new Map<string, Body[]>()
  for (const body of bodies) {
    const uid = text(controllerOf(body)?.uid)
    found.set(uid, [...(found.get(uid) ?? []), body])
  }
  return found
}

/** Deletes the objects of owners that no longer exist. */
const collectGarbage = (objects: Objects, now: number): void => {
  const owners = new Set(
    [DEPLOYMENTS, REPLICA_SETS, STATEFUL_SETS, DAEMON_SETS].flatMap((kind) =>
      objects.list(kind, '').map(uidOf),
    ),
  )
  const isOrphan = (body: Body): boolean => {
    const owner = controllerOf(body)
    return (
      owner !== undefined && text(owner.apiVersion) === 'apps/v1' && !owners.has(text(owner.uid))
    )
  }
  for (const set of objects.list(REPLICA_SETS, ''))
    if (isOrphan(set)) objects.remove(targetOf(REPLICA_SETS, set))
  for (const pod of objects.list(PODS, '')) if (isOrphan(pod)) terminate(objects, pod, now)
}

/**
 * A new template gets a new ReplicaSet at once. The old ReplicaSets are scaled down after all pods
 * of the new one are ready, so the number of ready pods never falls.
 */
const controlDeployment = (objects: Objects, deployment: Body): void => {
  const { template, selector } = object(deployment.spec)
  const hash = hashOf(template)
  const name = `${nameOf(deployment)}-${hash}`
  const wanted = replicasOf(deployment)
  const sets = objects
    .list(REPLICA_SETS, namespaceOf(deployment))
    .filter((set) => text(controllerOf(set)?.uid) === uidOf(deployment))
  const current = sets.find((set) => nameOf(set) === name)
  if (!current)
    return createReplicaSet(objects, deployment, name, hash, {
      replicas: wanted,
      selector,
      template,
    })
  if (replicasOf(current) !== wanted) scale(objects, REPLICA_SETS, current, wanted)
  const ready = Number(object(current.status).readyReplicas ?? 0)
  const old = sets.filter((set) => set !== current && replicasOf(set) > 0)
  if (ready >= wanted) for (const set of old) scale(objects, REPLICA_SETS, set, 0)
  const total = (field: string): number =>
    sets.reduce((sum, set) => sum + Number(object(set.status)[field] ?? 0), 0)
  const available = total('readyReplicas')
  const isAvailable = available >= Math.max(0, wanted - Math.floor(wanted / 4))
  objects.updateStatus(
    targetOf(DEPLOYMENTS, deployment),
    {
      observedGeneration: generationOf(deployment),
      replicas: total('replicas'),
      updatedReplicas: Number(object(current.status).replicas ?? 0),
      ...(available > 0 && { readyReplicas: available, availableReplicas: available }),
      ...(available < wanted && { unavailableReplicas: wanted - available }),
      conditions: [
        {
          type: 'Available',
          status: isAvailable ? 'True' : 'False',
          reason: isAvailable ? 'MinimumReplicasAvailable' : 'MinimumReplicasUnavailable',
        },
      ],
    },
    MANAGER,
  )
}

const createReplicaSet = (
  objects: Objects,
  deployment: Body,
  name: string,
  hash: string,
  { replicas, selector, template }: Body,
): void => {
  const { uid, namespace } = object(deployment.metadata)
  const labels = { ...object(object(object(template).metadata).labels), [HASH]: hash }
  objects.create(
    REPLICA_SETS,
    text(namespace),
    {
      metadata: {
        name,
        labels,
        ownerReferences: [
          {
            apiVersion: apiVersionOf(DEPLOYMENTS),
            kind: 'Deployment',
            name: nameOf(deployment),
            uid,
            controller: true,
            blockOwnerDeletion: true,
          },
        ],
      },
      spec: {
        replicas,
        selector: {
          ...object(selector),
          matchLabels: { ...object(object(selector).matchLabels), [HASH]: hash },
        },
        template: {
          ...object(template),
          metadata: { ...object(object(template).metadata), labels },
        },
      },
    },
    MANAGER,
  )
}

const scale = (objects: Objects, kind: ResourceKind, body: Body, replicas: number): void =>
  void objects.replace(
    targetOf(kind, body),
    { ...body, spec: { ...object(body.spec), replicas } },
    MANAGER,
  )

/** Pods that are being deleted don't count, so their replacements start at once. */
const controlReplicaSet = (
  objects: Objects,
  set: Body,
  owned: readonly Body[],
  now: number,
): void => {
  const pods = owned.filter((pod) => !isTerminating(pod))
  const wanted = replicasOf(set)
  for (let missing = wanted - pods.length; missing > 0; missing--)
    createPod(objects, REPLICA_SETS, set, `${nameOf(set)}-`, {})
  // Pods that aren't ready go first.
  for (const pod of pods
    .toSorted((one, other) => Number(isReady(one)) - Number(isReady(other)))
    .slice(0, Math.max(0, pods.length - wanted)))
    terminate(objects, pod, now)
  objects.updateStatus(
    targetOf(REPLICA_SETS, set),
    { observedGeneration: generationOf(set), ...replicaCounts(pods) },
    MANAGER,
  )
}

/** A pod keeps its name, so a replacement starts only after its predecessor is gone. */
const controlStatefulSet = (
  objects: Objects,
  set: Body,
  owned: readonly Body[],
  now: number,
): void => {
  const wanted = replicasOf(set)
  const revision = hashOf(object(set.spec).template)
  const byName = new Map(owned.map((pod) => [nameOf(pod), pod]))
  const names = Array.from({ length: wanted }, (_, ordinal) => `${nameOf(set)}-${ordinal}`)
  const isParallel = object(set.spec).podManagementPolicy === 'Parallel'
  for (const [ordinal, name] of names.entries()) {
    const pod = byName.get(name)
    if (!pod) {
      const labels = {
        'statefulset.kubernetes.io/pod-name': name,
        'apps.kubernetes.io/pod-index': String(ordinal),
        [REVISION]: revision,
      }
      createPod(objects, STATEFUL_SETS, set, name, labels, { hostname: name })
    }
    if (!isParallel && (!pod || !isReady(pod) || isTerminating(pod))) break
  }
  for (const pod of owned) if (!names.includes(nameOf(pod))) terminate(objects, pod, now)
  const current = owned.filter((pod) => names.includes(nameOf(pod)) && !isTerminating(pod))
  const outdated = current.filter((pod) => labelsOf(pod)[REVISION] !== revision)
  const isWhole = current.length === wanted && current.every(isReady)
  const last = outdated.toSorted((one, other) => (nameOf(one) < nameOf(other) ? 1 : -1))[0]
  if (last && (isWhole || !isReady(last))) terminate(objects, last, now)
  objects.updateStatus(
    targetOf(STATEFUL_SETS, set),
    {
      observedGeneration: generationOf(set),
      ...replicaCounts(current),
      currentReplicas: current.length - outdated.length,
      updatedReplicas: current.length - outdated.length,
      currentRevision: revision,
      updateRevision: revision,
    },
    MANAGER,
  )
}

/**
 * One pod for each node whose taints the template tolerates, also for nodes that aren't ready or
 * are cordoned.
 */
const controlDaemonSet = (
  objects: Objects,
  set: Body,
  owned: readonly Body[],
  nodes: readonly Body[],
  now: number,
): void => {
  const template = object(object(set.spec).template)
  const { nodeSelector, tolerations } = object(template.spec)
  const revision = hashOf(template)
  const wanted = nodes
    .filter((node) =>
      Object.entries(object(nodeSelector)).every(([key, value]) => labelsOf(node)[key] === value),
    )
    .filter((node) => untolerated(object(node.spec).taints, tolerations).length === 0)
    .map(nameOf)
  const active = owned.filter((pod) => !isTerminating(pod))
  for (const nodeName of wanted)
    if (!owned.some((pod) => nodeNameOf(pod) === nodeName))
      createPod(
        objects,
        DAEMON_SETS,
        set,
        `${nameOf(set)}-`,
        { [REVISION]: revision },
        { nodeName },
      )
  for (const pod of active) if (!wanted.includes(nodeNameOf(pod))) terminate(objects, pod, now)
  const current = active.filter((pod) => wanted.includes(nodeNameOf(pod)))
  const outdated = current.filter((pod) => labelsOf(pod)[REVISION] !== revision)
  const isWhole = current.length === wanted.length && current.every(isReady)
  const next = outdated.find((pod) => !isReady(pod)) ?? (isWhole ? outdated[0] : undefined)
  if (next) terminate(objects, next, now)
  const ready = count(current, isReady)
  objects.updateStatus(
    targetOf(DAEMON_SETS, set),
    {
      observedGeneration: generationOf(set),
      desiredNumberScheduled: wanted.length,
      currentNumberScheduled: current.length,
      numberMisscheduled: 0,
      numberReady: ready,
      updatedNumberScheduled: current.length - outdated.length,
      ...(ready > 0 && { numberAvailable: ready }),
      ...(ready < wanted.length && { numberUnavailable: wanted.length - ready }),
    },
    MANAGER,
  )
}
