import { STATIC_PODS, type StaticPodName } from '../../config/node-config.ts'
import { openKubernetes } from '../../kubernetes/serve.ts'
import { TAKES } from '../durations.ts'
import { endingOf, fails } from '../failing.ts'
import { hasImage, pullImage } from '../images.ts'
import { lookUntil } from './kubelet.ts'
import type { Machine, StaticPod } from '../machine.ts'
import { crashMessage } from './pod-status.ts'

/** The static pods of a control plane: its API server and the two programs beside it. */
export const runStaticPods = async (machine: Machine, signal: AbortSignal): Promise<void> => {
  await Promise.all(STATIC_PODS.map((name) => runStaticPod(machine, name, signal)))
}

/**
 * One static pod. When its settings change, the kubelet stops the pod before it pulls the new
 * image, as for every static pod: with an image that doesn't exist, the control plane is without
 * this program until the settings change again.
 */
const runStaticPod = async (
  machine: Machine,
  name: StaticPodName,
  signal: AbortSignal,
): Promise<void> => {
  const settings = (): string => settingsOf(machine, name)
  let configVersion = 0
  let before = ''
  for (;;) {
    await machine.until(() => machine.services.isUp('etcd'), signal)
    await lookUntil(machine, signal, () => machine.etcdCluster?.hasQuorum === true)
    const running = settings()
    if (running !== before) configVersion++
    before = running
    const { image } = machine.config!.node!.cluster.staticPods[name]
    const pod: StaticPod = {
      name,
      image,
      ready: false,
      isPullFailing: false,
      isCrashing: false,
      configVersion,
      settings: running,
      startedAt: machine.world.clock.now(),
    }
    machine.staticPods.set(name, pod)
    const isChanged = changeOf(machine, running, settings)
    if (await pulled(machine, pod, isChanged, signal)) {
      await machine.takes(TAKES.apiServer, signal)
      if (await stays(machine, pod, isChanged, signal)) await serve(machine, pod)
    }
    const ends = endingOf(machine, name)
    await machine.until(
      () => (ends() || isChanged()) && machine.services.isRunning('kubelet'),
      signal,
    )
    stop(machine, pod)
    await machine.takes(TAKES.stopServices, signal)
  }
}

const settingsOf = (machine: Machine, name: StaticPodName): string =>
  JSON.stringify(machine.config?.node?.cluster.staticPods[name])

/**
 * Version of the settings that the machine's configuration has for a static pod, which the pod's
 * annotation has once it runs with them.
 */
export const wantedVersion = (machine: Machine, name: StaticPodName): number => {
  const pod = machine.staticPods.get(name)
  if (!pod) return 1
  return pod.configVersion + (settingsOf(machine, name) === pod.settings ? 0 : 1)
}

/**
 * Returns a function that tells whether the settings have changed. It compares them only after a
 * new configuration.
 */
const changeOf = (machine: Machine, running: string, settings: () => string): (() => boolean) => {
  let seen = machine.config
  let isChanged = false
  return () => {
    if (machine.config !== seen) {
      seen = machine.config
      isChanged = settings() !== running
    }
    return isChanged
  }
}

/** Pulls the pod's image, for as long as it takes. False if the settings changed first. */
const pulled = async (
  machine: Machine,
  pod: StaticPod,
  isChanged: () => boolean,
  signal: AbortSignal,
): Promise<boolean> => {
  if ((await pullImage(machine, pod.image, { signal, retries: 0 })) === null) return true
  pod.isPullFailing = true
  machine.journal.log(
    'kubelet',
    `Error syncing pod kube-system/${pod.name}-${machine.hostname}: ImagePullBackOff: Back-off pulling image "${pod.image}"`,
  )
  machine.evaluate()
  machine.journal.changed()
  while (!hasImage(machine, pod.image)) {
    if (isChanged()) return false
    await machine.looksAgainAfter(TAKES.pullRetry, signal)
  }
  pod.isPullFailing = false
  return (await pullImage(machine, pod.image, { signal, retries: 0 })) === null
}

/**
 * Whether the program keeps running. With the faults `pod-crash` and `component-fails` it ends after each
 * start. False if the settings changed first.
 */
const stays = async (
  machine: Machine,
  pod: StaticPod,
  isChanged: () => boolean,
  signal: AbortSignal,
): Promise<boolean> => {
  const crashes = (): boolean =>
    fails(machine, pod.name) ||
    machine.disk.state.faults.some(
      (fault) => fault.kind === 'pod-crash' && pod.image.includes(fault.image),
    )
  while (crashes()) {
    if (isChanged()) return false
    if (!pod.isCrashing) {
      pod.isCrashing = true
      machine.journal.log(
        'kubelet',
        `Error syncing pod kube-system/${pod.name}-${machine.hostname}: CrashLoopBackOff: ${crashMessage(pod)}`,
      )
      machine.evaluate()
      machine.journal.changed()
    }
    await machine.looksAgainAfter(TAKES.pullRetry, signal)
  }
  pod.isCrashing = false
  return true
}

const serve = async (machine: Machine, pod: StaticPod): Promise<void> => {
  if (!machine.services.isUp('etcd')) return
  if (pod.name === 'kube-apiserver') {
    await openKubernetes(machine)
    machine.apiServerUp = true
  }
  pod.ready = true
  pod.startedAt = machine.world.clock.now()
  machine.journal.log(
    'kubelet',
    `static pod kube-system/${pod.name}-${machine.hostname} is running`,
  )
  machine.evaluate()
  machine.journal.changed()
}

const stop = (machine: Machine, pod: StaticPod): void => {
  pod.ready = false
  if (pod.name === 'kube-apiserver') {
    machine.apiServerUp = false
    machine.ports.kubernetes.close({ gently: true })
  }
  machine.evaluate()
  machine.journal.changed()
}
