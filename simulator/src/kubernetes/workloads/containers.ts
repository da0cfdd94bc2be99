import { type Body, list, object, text } from '../../config/shape.ts'
import { notFoundMessage } from '../../config/images.ts'
import { TAKES } from '../../machine/durations.ts'
import { hasImage } from '../../machine/images.ts'
import type { Machine } from '../../machine/machine.ts'
import type { Objects } from '../objects.ts'
import {
  controllerOf,
  isTerminating,
  nodeNameOf,
  PODS,
  podTarget,
  terminate,
  uidOf,
} from './pods.ts'

/** The containers of a pod on its machine. Times are simulated milliseconds. */
interface Containers {
  /** Boot in which the containers were started. They end with it. */
  bootId: string
  readyAt: number
  stopAt: number | null
}

/**
 * Time after which pods leave a node that doesn't report (Kubernetes: default toleration of the
 * taint `not-ready`).
 */
const LEAVE_MS = 300_000

/**
 * What runs on the nodes of a cluster. In memory, as containers don't survive a restart of the
 * simulator.
 */
export class Nodes {
  readonly #containers = new Map<string, Containers>()
  /** Simulated time since which a node doesn't report. */
  readonly #silentSince = new Map<string, number>()
  /** Simulated time at which the next change is due. */
  due = Number.POSITIVE_INFINITY

  /**
   * One round of all kubelets: starts and stops containers and reports the status of pods.
   * `machines`: the machine of each node.
   */
  observe(
    objects: Objects,
    elapsed: number,
    now: number,
    machines: ReadonlyMap<string, Machine | undefined>,
  ): void {
    this.due = Number.POSITIVE_INFINITY
    for (const [name, machine] of machines) {
      if (machine?.isRegistered) this.#silentSince.delete(name)
      else if (!this.#silentSince.has(name)) this.#silentSince.set(name, elapsed)
    }
    const pods = objects.list(PODS, '').filter((pod) => nodeNameOf(pod) !== '')
    const uids = new Set(pods.map(uidOf))
    for (const uid of this.#containers.keys()) if (!uids.has(uid)) this.#containers.delete(uid)
    for (const pod of pods) {
      // The garbage collector removes pods of nodes that no longer exist.
      if (!machines.has(nodeNameOf(pod))) objects.remove(podTarget(pod))
      else this.#observePod(objects, pod, machines.get(nodeNameOf(pod)), elapsed, now)
    }
  }

  #observePod(
    objects: Objects,
    pod: Body,
    machine: Machine | undefined,
    elapsed: number,
    now: number,
  ): void {
    const reports = machine?.isRegistered === true
    let containers = this.#containers.get(uidOf(pod))
    if (isTerminating(pod)) {
      // Without its kubelet a pod stays until it is deleted with force.
      if (!reports) return
      if (!containers)
        this.#containers.set(
          uidOf(pod),
          (containers = { bootId: machine.bootId, readyAt: elapsed, stopAt: null }),
        )
      containers.stopAt ??= elapsed + TAKES.podStop
      if (containers.stopAt <= elapsed) objects.remove(podTarget(pod))
      else this.due = Math.min(this.due, containers.stopAt)
      return
    }
    const isRunning =
      machine !== undefined &&
      containers?.bootId === machine.bootId &&
      machine.isOn &&
      machine.services.isRunning('cri')
    if (!isRunning && reports && machine.nodeReady)
      this.#containers.set(uidOf(pod), (containers = this.#start(pod, machine, elapsed)))
    else if (!isRunning) containers = undefined
    const missing =
      containers && machine ? imagesOf(pod).find((image) => !hasImage(machine, image)) : undefined
    if (missing !== undefined && containers) containers.readyAt = elapsed + TAKES.podReady
    if (containers && containers.readyAt > elapsed)
      this.due = Math.min(this.due, containers.readyAt)
    const isReady = containers !== undefined && containers.readyAt <= elapsed
    objects.updateStatus(
      podTarget(pod),
      statusOf(pod, machine, { isReady, isStarted: containers !== undefined, missing, now }),
      'kubelet',
    )
    this.#leave(objects, pod, elapsed, now)
  }

  /** After a restart of the simulator, a pod that was ready is ready at once. */
  #start(pod: Body, machine: Machine, elapsed: number): Containers {
    const known = list(object(pod.status).containerStatuses).map(object)[0]
    const wasHere = text(known?.containerID).endsWith(machine.bootId) && known?.ready === true
    return {
      bootId: machine.bootId,
      readyAt: wasHere ? elapsed : elapsed + TAKES.podReady,
      stopAt: null,
    }
  }

  #leave(objects: Objects, pod: Body, elapsed: number, now: number): void {
    const since = this.#silentSince.get(nodeNameOf(pod))
    if (since === undefined || controllerOf(pod)?.kind === 'DaemonSet') return
    const at = since + LEAVE_MS
    if (at <= elapsed) terminate(objects, pod, now)
    else this.due = Math.min(this.due, at)
  }
}

const imagesOf = (pod: Body): string[] =>
  list(object(pod.spec).containers).map((container) => text(object(container).image))

interface Observed {
  isReady: boolean
  isStarted: boolean
  missing: string | undefined
  now: number
}

const statusOf = (
  pod: Body,
  machine: Machine | undefined,
  { isReady, isStarted, missing, now }: Observed,
): Body => {
  const before = object(pod.status)
  const at = new Date(now).toISOString().replace(/\.\d+Z$/, 'Z')
  const startTime = text(before.startTime) || at
  const old = list(before.conditions).map(object)
  const condition = (type: string, holds: boolean): Body => {
    const status = holds ? 'True' : 'False'
    const known = old.find((one) => one.type === type)
    return {
      type,
      status,
      lastTransitionTime: known?.status === status ? known.lastTransitionTime : at,
    }
  }
  const wasRunning = before.phase === 'Running'
  const isRunning = isReady || (wasRunning && missing === undefined)
  const restarts = list(before.containerStatuses).map(object)
  const address =
    object(pod.spec).hostNetwork === true
      ? machine?.plan.address
      : text(before.podIP) || podAddress(pod)
  return {
    ...before,
    phase: isRunning ? 'Running' : 'Pending',
    ...(machine && { hostIP: machine.plan.address }),
    ...(address && { podIP: address }),
    startTime,
    conditions: [
      condition('PodScheduled', true),
      condition('Initialized', true),
      condition('ContainersReady', isReady),
      condition('Ready', isReady),
    ],
    containerStatuses: list(object(pod.spec).containers).map((container, index) => {
      const { name, image } = object(container)
      const known = restarts[index]
      const id =
        machine && isStarted
          ? `containerd://${uidOf(pod)}-${machine.bootId}`
          : text(known?.containerID)
      const isNew =
        known !== undefined && text(known.containerID) !== '' && id !== known.containerID
      const waiting =
        missing === undefined
          ? { reason: 'ContainerCreating' }
          : {
              reason: 'ImagePullBackOff',
              message: `Back-off pulling image "${missing}": ErrImagePull: ${notFoundMessage(missing)}`,
            }
      const runningSince =
        isReady && known?.ready === true ? object(object(known.state).running).startedAt : at
      return {
        name,
        image,
        ready: isReady,
        started: isReady,
        restartCount: Number(known?.restartCount ?? 0) + (isNew ? 1 : 0),
        containerID: id,
        state: isReady ? { running: { startedAt: runningSince ?? at } } : { waiting },
      }
    }),
  }
}

/** An address of the pod network that stays the same for a pod. */
const podAddress = (pod: Body): string => {
  const digits = uidOf(pod).replaceAll(/\D/g, '').padEnd(6, '1')
  return `10.244.${Number(digits.slice(0, 2))}.${1 + (Number(digits.slice(2, 5)) % 250)}`
}
