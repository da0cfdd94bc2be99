import { Interrupted } from '../../clock.ts'
import { certify, isLockedOut, kubernetesOf } from '../../kubernetes/joining.ts'
import { refusesKubelet, registerNode, updateNode } from '../../kubernetes/nodes.ts'
import { TAKES } from '../durations.ts'
import { fails, showRestarts, untilMended } from '../failing.ts'
import { pullImage } from '../images.ts'
import type { Machine } from '../machine.ts'

/**
 * The settings that end up in the kubelet's files. When they change, Talos stops the kubelet and
 * starts it again (Talos: controllers/k8s/kubelet_spec.go, controllers/secrets/kubelet.go and
 * controllers/k8s/kubelet_service.go).
 */
const specOf = ({ config, hostname }: Machine): string => {
  const node = config?.node
  const { ca, acceptedCas, token, endpoint } = node?.cluster ?? {}
  return JSON.stringify([
    node?.kubelet,
    ca?.crt,
    acceptedCas,
    token,
    node?.kubePrism === true || endpoint,
    hostname,
  ])
}

/**
 * Runs the kubelet until the machine stops. A change of its settings restarts it, and so does
 * `machine.restartKubelet`.
 */
export const runKubelet = async (machine: Machine, signal: AbortSignal): Promise<void> => {
  for (;;) {
    const stop = new AbortController()
    const spec = specOf(machine)
    machine.restartKubelet = () => {
      if (stop.signal.aborted) return
      if (machine.services.isRunning('kubelet'))
        machine.service('kubelet', 'Stopping', 'Sending SIGTERM to task kubelet')
      stop.abort()
    }
    machine.onSettings = () => {
      if (specOf(machine) !== spec || fails(machine, 'kubelet')) machine.restartKubelet?.()
      else if (machine.nodeReady) applyToNode(machine)
    }
    try {
      await kubelet(machine, AbortSignal.any([signal, stop.signal]))
    } catch (cause) {
      if (!(cause instanceof Interrupted) || signal.aborted) throw cause
    }
    unready(machine)
    if (machine.services.get('kubelet')?.state !== 'Stopping') continue
    await machine.takes(TAKES.stopServices, signal)
    machine.service('kubelet', 'Finished', 'Service finished successfully')
  }
}

/**
 * Starts the kubelet, finds the cluster's API, registers the machine as a node, and reports the
 * node as ready after its network has started.
 */
const kubelet = async (machine: Machine, signal: AbortSignal): Promise<void> => {
  const image = machine.config!.node!.kubeletImage
  machine.service('kubelet', 'Preparing', 'Running pre state')
  const problem = await pullImage(machine, image, { signal })
  if (problem !== null) {
    // Talos doesn't start a failed kubelet again until its settings change, or a caller starts it.
    machine.service('kubelet', 'Failed', `Failed to run pre stage: ${problem}`)
    await machine.until(() => false, signal)
  }
  machine.service('kubelet', 'Starting', 'Starting service')
  await machine.takes(TAKES.kubelet, signal)
  if (fails(machine, 'kubelet')) {
    showRestarts(machine, 'kubelet')
    await untilMended(machine, 'kubelet', signal)
  }
  machine.service('kubelet', 'Running', 'Health check successful', true)
  for (;;) {
    await join(machine, signal)
    let isRefused = false
    machine.onPeer = () => {
      isRefused = isLockedOut(machine)
      if (isRefused) machine.journal.changed()
    }
    await machine.until(() => isRefused, signal)
    machine.journal.log('kubelet', 'error updating node status: Unauthorized')
    unready(machine)
  }
}

/** Registers the node and waits until it is ready. */
const join = async (machine: Machine, signal: AbortSignal): Promise<void> => {
  await untilAccepted(machine, signal)
  await machine.takes(TAKES.registerNode, signal)
  const cluster = await untilAccepted(machine, signal)
  certify(cluster, machine)
  registerNode(cluster, machine)
  machine.isRegistered = true
  await machine.takes(TAKES.nodeReady, signal)
  await lookUntil(machine, signal, () => !neverReady(machine))
  machine.nodeReady = true
  machine.journal.log('kubelet', `node ${machine.hostname} is ready`)
  machine.evaluate()
  machine.journal.changed()
}

/** The fault: the node's network never starts. */
const neverReady = (machine: Machine): boolean =>
  machine.disk.state.faults.some(({ kind }) => kind === 'boots-never-ready')

/**
 * Waits for an API server that accepts the kubelet. An API server must not be older than a kubelet
 * (Kubernetes: version skew policy).
 */
const untilAccepted = async (
  machine: Machine,
  signal: AbortSignal,
): Promise<NonNullable<ReturnType<typeof kubernetesOf>>> => {
  let told = ''
  for (;;) {
    const cluster = kubernetesOf(machine)
    const reason = cluster ? refusesKubelet(machine) : null
    if (cluster && reason === null) return cluster
    if (reason !== null && reason !== told)
      machine.journal.log('kubelet', `unable to register node with API server: ${reason}`)
    told = reason ?? told
    await machine.looksAgainAfter(TAKES.etcdLook, signal)
  }
}

const unready = (machine: Machine): void => {
  if (machine.nodeReady) machine.lastHeartbeat = machine.world.clock.elapsed()
  machine.nodeReady = false
  machine.isRegistered = false
  machine.evaluate()
  machine.journal.changed()
}

/**
 * Updates labels and taints of the node without a restart of the kubelet (Talos:
 * controllers/k8s/node_apply.go).
 */
const applyToNode = (machine: Machine): void => {
  const cluster = kubernetesOf(machine)
  if (cluster) updateNode(cluster, machine)
}

/** Polls a condition that depends on other machines. */
export const lookUntil = async (
  machine: Machine,
  signal: AbortSignal,
  condition: () => boolean,
): Promise<void> => {
  while (!condition()) await machine.looksAgainAfter(TAKES.etcdLook, signal)
}
