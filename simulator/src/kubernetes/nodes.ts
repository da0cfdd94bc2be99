import type { EtcdCluster } from '../cluster/etcd.ts'
import { type Body, list, object, text } from '../config/shape.ts'
import { imageTag, minorOf } from '../config/versions.ts'
import type { Machine } from '../machine/machine.ts'
import type { World } from '../world.ts'
import { kubernetesOf } from './joining.ts'
import { builtIn } from './kinds.ts'
import { Objects } from './objects.ts'
import { randomBytes } from 'node:crypto'

const NODES = builtIn('nodes')
/**
 * Annotation of a node with the name of its machine. A node remains in the cluster after its
 * machine has left.
 */
const OWNED_TAINTS = 'talos.dev/owned-taints'
const CORDONED = 'talos.dev/cordoned'
const CONTROL_PLANE = 'node-role.kubernetes.io/control-plane'
const SERVER_ANNOTATION = 'simulator.steelyard/server'
/** Time without a kubelet heartbeat after which a node is Unknown (node-monitor-grace-period). */
const GRACE_MS = 40_000
const REPORT_EVERY_MS = 10_000

export const nodeLabels = (machine: Machine): Record<string, string> => ({
  'beta.kubernetes.io/arch': 'amd64',
  'beta.kubernetes.io/os': 'linux',
  'kubernetes.io/arch': 'amd64',
  'kubernetes.io/hostname': machine.hostname,
  'kubernetes.io/os': 'linux',
  ...machine.config?.node?.nodeLabels,
})

export const objectsOf = (cluster: EtcdCluster, machine: Machine): Objects =>
  new Objects(cluster, machine.world.clock.now)

/**
 * The version of a control plane's API server: of its static pod, or of its configuration before
 * the pod has started.
 */
export const apiServerVersionOf = (machine: Machine): string =>
  imageTag(machine.staticPods.get('kube-apiserver')?.image ?? '') ??
  machine.config?.node?.cluster.apiServerVersion ??
  ''

/**
 * Why a machine's kubelet can't work with its cluster's API servers, or null: the minor of a
 * kubelet must not be newer than that of any API server (Kubernetes: releases/version-skew-policy).
 * Real API servers often accept such a kubelet, but don't guarantee it.
 */
export const refusesKubelet = (machine: Machine): string | null => {
  const kubelet = machine.config?.node?.kubeletVersion ?? ''
  const cluster = kubernetesOf(machine)
  const older = machine.world.machines
    .filter((other) => other.apiServerUp && other.etcdCluster === cluster)
    .map(apiServerVersionOf)
    .find((version) => minorOf(version) < minorOf(kubelet))
  return older === undefined
    ? null
    : `kubelet ${kubelet} must not be newer than kube-apiserver ${older}`
}

/** Registers a machine as a node, or reports the status of a node that the cluster knows. */
export const registerNode = (cluster: EtcdCluster, machine: Machine): void => {
  const objects = objectsOf(cluster, machine)
  const name = machine.hostname
  objects.together(() => {
    const isNew = !objects.has({ kind: NODES, namespace: '', name })
    applyNode(objects, cluster, machine)
    uncordon(objects, machine)
    objects.setStatus(
      { kind: NODES, namespace: '', name },
      hardwareStatus(machine, name),
      'kubelet',
    )
    recordEvents(objects, machine.world.clock.now(), [
      { node: name, component: 'kubelet', reason: 'Starting', message: 'Starting kubelet.' },
      ...(isNew
        ? [
            {
              node: name,
              component: 'node-controller',
              reason: 'RegisteredNode',
              message: `Node ${name} event: Registered Node ${name} in Controller`,
            },
          ]
        : []),
    ])
  })
}

/** Writes the labels and taints of the machine's configuration to its node. */
export const updateNode = (cluster: EtcdCluster, machine: Machine): void => {
  const objects = objectsOf(cluster, machine)
  if (objects.has({ kind: NODES, namespace: '', name: machine.hostname }))
    objects.together(() => applyNode(objects, cluster, machine))
}

const applyNode = (objects: Objects, cluster: EtcdCluster, machine: Machine): void => {
  const node = machine.config!.node!
  const target = { kind: NODES, namespace: '', name: machine.hostname }
  const existing = objects.has(target) ? objects.get(target) : null
  const configured = Object.entries(node.nodeTaints).map(([key, value]) => taint(key, value))
  // Taints of other clients stay. Those that Talos has set before are in an annotation (Talos:
  // controllers/k8s/node_apply.go).
  const annotations = object(object(existing?.metadata).annotations)
  const owned = new Set([
    CONTROL_PLANE,
    ...text(annotations[OWNED_TAINTS]).split(','),
    ...configured.map(({ key }) => key),
  ])
  const others = list(object(existing?.spec).taints)
    .map(object)
    .filter(({ key }) => !owned.has(text(key)))
  const taints = [...configured, ...others]
  const ordinal =
    cluster.state.members.length + Object.keys(cluster.state.kubernetes.objects).length
  const podCIDR = text(object(existing?.spec).podCIDR) || `10.244.${ordinal % 256}.0/24`
  const own = {
    [SERVER_ANNOTATION]: machine.plan.name,
    [OWNED_TAINTS]: configured.map(({ key }) => key).join(','),
  }
  objects.apply(
    target,
    {
      metadata: { name: target.name, labels: nodeLabels(machine), annotations: own },
      spec: { podCIDR, ...(taints.length > 0 && { taints }) },
    },
    'kubelet',
    true,
  )
}

/** Talos writes taints as `key: value:Effect` or `key: Effect`. */
const taint = (key: string, value: string): { key: string; value?: string; effect: string } => {
  const at = value.lastIndexOf(':')
  return at === -1
    ? { key, effect: value }
    : { key, value: value.slice(0, at), effect: value.slice(at + 1) }
}

/**
 * Cordons the node, as Talos does before it drains. The machine uncordons it when it joins again.
 */
export const cordonNode = (cluster: EtcdCluster, machine: Machine): void => {
  const objects = objectsOf(cluster, machine)
  const target = { kind: NODES, namespace: '', name: machine.hostname }
  if (objects.has(target))
    objects.apply(
      target,
      { metadata: { annotations: { [CORDONED]: 'true' } }, spec: { unschedulable: true } },
      'talos',
      true,
    )
}

/**
 * Uncordons a node that Talos has cordoned. A node that another client has cordoned stays cordoned.
 */
const uncordon = (objects: Objects, machine: Machine): void => {
  const target = { kind: NODES, namespace: '', name: machine.hostname }
  if (object(object(objects.get(target).metadata).annotations)[CORDONED] !== undefined)
    objects.apply(target, {}, 'talos', true)
}

export const isCordoned = (cluster: EtcdCluster, machine: Machine): boolean => {
  const objects = objectsOf(cluster, machine)
  const target = { kind: NODES, namespace: '', name: machine.hostname }
  return objects.has(target) && object(objects.get(target).spec).unschedulable === true
}

const seen = new WeakMap<EtcdCluster, Map<string, string>>()

/**
 * Increases the version of each node whose status has changed since the last check. The status is
 * computed at each read, so no write increases the version.
 */
export const observeNodes = (world: World, cluster: EtcdCluster, objects: Objects): void => {
  const known = seen.get(cluster) ?? new Map<string, string>()
  seen.set(cluster, known)
  const changed = objects.list(NODES, '').filter((stored) => {
    const name = text(object(stored.metadata).name)
    const before = known.get(name)
    const now = signatureOf(presentNode(world, stored))
    known.set(name, now)
    return before !== undefined && before !== now
  })
  if (changed.length === 0) return
  objects.together(() => {
    for (const { metadata } of changed)
      objects.touch({ kind: NODES, namespace: '', name: text(object(metadata).name) })
  })
}

/** A node's status without timestamps, to detect changes. */
const signatureOf = ({ status }: Body): string =>
  JSON.stringify(status, (key, value: unknown) => (/^last.*Time$/.test(key) ? undefined : value))

/**
 * The machine of a node, if the machine still has the node's name, and whether its kubelet reports.
 */
export const reporterOf = (world: World, stored: Body) => {
  const metadata = object(stored.metadata)
  const server = text(object(metadata.annotations)[SERVER_ANNOTATION])
  const machine = world.named(server)
  return {
    machine,
    isAlive: machine?.nodeReady === true && machine.hostname === text(metadata.name),
  }
}

/** Wall-clock time of the last report, in ms. Kubelets report in simulated intervals. */
const reportedMs = ({ clock }: World, isAlive: boolean): number => {
  const now = clock.now()
  return isAlive ? now - Math.floor((clock.elapsed() % REPORT_EVERY_MS) / clock.speed) : now
}
const reportedAt = (world: World, isAlive: boolean): string =>
  new Date(reportedMs(world, isAlive)).toISOString().replace(/\.\d+Z$/, 'Z')

/** Last heartbeat of a node's kubelet, RFC 3339 with milliseconds. */
export const heartbeatOf = (world: World, stored: Body): string => {
  const { machine, isAlive } = reporterOf(world, stored)
  if (isAlive || !machine) return new Date(reportedMs(world, isAlive)).toISOString()
  // A machine that was off when the simulator started has sent none since then.
  const last = Math.max(0, machine.lastHeartbeat)
  return new Date(world.clock.now() - (world.clock.elapsed() - last)).toISOString()
}

/** A node with its machine's current status. */
export const presentNode = (world: World, stored: Body): Body => {
  const metadata = object(stored.metadata)
  const name = text(metadata.name)
  const { machine, isAlive } = reporterOf(world, stored)
  const silentMs = machine
    ? world.clock.elapsed() - machine.lastHeartbeat
    : Number.POSITIVE_INFINITY
  const isRegistered = machine?.isRegistered === true && machine.hostname === name
  const status = isAlive
    ? 'True'
    : isRegistered
      ? 'False'
      : silentMs < GRACE_MS
        ? 'True'
        : 'Unknown'
  const at = reportedAt(world, isAlive)
  const ready =
    status === 'True'
      ? { reason: 'KubeletReady', message: 'kubelet is posting ready status' }
      : status === 'False'
        ? {
            reason: 'KubeletNotReady',
            message:
              'container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady',
          }
        : { reason: 'NodeStatusUnknown', message: 'Kubelet stopped posting node status.' }
  const pressure = status === 'Unknown' ? 'Unknown' : 'False'
  const created = text(metadata.creationTimestamp)
  const unreadySince =
    machine && Number.isFinite(machine.lastHeartbeat)
      ? heartbeatOf(world, stored).replace(/\.\d+Z$/, 'Z')
      : created
  const condition = (
    type: string,
    value: string,
    reason: string,
    message: string,
    since = created,
  ): object => ({
    type,
    status: value,
    lastHeartbeatTime: at,
    lastTransitionTime: since,
    reason,
    message,
  })
  return {
    ...stored,
    status: {
      ...object(stored.status),
      conditions: [
        condition(
          'MemoryPressure',
          pressure,
          'KubeletHasSufficientMemory',
          'kubelet has sufficient memory available',
        ),
        condition(
          'DiskPressure',
          pressure,
          'KubeletHasNoDiskPressure',
          'kubelet has no disk pressure',
        ),
        condition(
          'PIDPressure',
          pressure,
          'KubeletHasSufficientPID',
          'kubelet has sufficient PID available',
        ),
        condition(
          'Ready',
          status,
          ready.reason,
          ready.message,
          status === 'True' ? created : unreadySince,
        ),
      ],
    },
  }
}

const hardwareStatus = (machine: Machine, name: string): Body => {
  const threads = machine.hardware.sockets.reduce(
    (sum, { processor }) => sum + processor.threads,
    0,
  )
  const memoryKib =
    machine.hardware.memory.reduce((sum, { module }) => sum + (module?.sizeMib ?? 0), 0) * 1024
  const capacity = {
    cpu: String(threads),
    memory: `${memoryKib}Ki`,
    pods: '110',
    'ephemeral-storage': `${Math.floor((machine.hardware.disks[0]?.sizeBytes ?? 0) / 1024)}Ki`,
  }
  return {
    addresses: [
      { type: 'InternalIP', address: machine.plan.address },
      { type: 'Hostname', address: name },
    ],
    capacity,
    allocatable: capacity,
    nodeInfo: {
      architecture: 'amd64',
      bootID: machine.bootId,
      containerRuntimeVersion: 'containerd://2.2.1',
      kernelVersion: '6.18.5-talos',
      kubeProxyVersion: '',
      kubeletVersion: machine.config?.node?.kubeletVersion ?? '',
      machineID: machine.disk.identity.uuid.replaceAll('-', ''),
      operatingSystem: 'linux',
      osImage: `Talos (${machine.talosVersion})`,
      systemUUID: machine.disk.identity.uuid,
    },
  }
}

const EVENTS = builtIn('events')
/** Kubernetes drops events after an hour (`--event-ttl`). This server also limits their number. */
const KEPT_MS = 3_600_000
const KEPT = 100

export interface NodeEvent {
  node: string
  component: string
  reason: string
  message: string
}

/** Stores events of nodes and drops old ones. */
const recordEvents = (objects: Objects, now: number, events: readonly NodeEvent[]): void => {
  const known = objects
    .list(EVENTS, 'default')
    .toSorted(
      (one, other) => Date.parse(text(one.lastTimestamp)) - Date.parse(text(other.lastTimestamp)),
    )
  known.forEach(({ lastTimestamp, metadata }, i) => {
    const isOld = now - Date.parse(text(lastTimestamp)) > KEPT_MS || i < known.length - KEPT
    if (isOld)
      objects.remove({ kind: EVENTS, namespace: 'default', name: text(object(metadata).name) })
  })
  const at = new Date(now).toISOString().replace(/\.\d+Z$/, 'Z')
  for (const { node, component, reason, message } of events)
    objects.create(
      EVENTS,
      'default',
      {
        metadata: { name: `${node}.${randomBytes(8).toString('hex')}` },
        involvedObject: { kind: 'Node', name: node, uid: node },
        reason,
        message,
        source: { component, host: node },
        firstTimestamp: at,
        lastTimestamp: at,
        count: 1,
        type: 'Normal',
        reportingComponent: component,
        reportingInstance: node,
      },
      component,
    )
}
