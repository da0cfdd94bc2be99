import { STATIC_PODS, type StaticPodName } from '../../config/node-config.ts'
import { openKubernetes } from '../../kubernetes/serve.ts'
import { TAKES } from '../durations.ts'
import { endingOf, fails } from '../failing.ts'
import { hasImage, pullImage } from '../images.ts'
import { lookUntil } from './kubelet.ts'
import { type Machine, POD_ANNOTATIONS, type PodAnnotation, type StaticPod } from '../machine.ts'
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
  for (;;) {
    await machine.until(() => machine.services.isUp('etcd'), signal)
    await lookUntil(machine, signal, () => machine.etcdCluster?.hasQuorum === true)
    const runs = wantedBy(machine, name)
    const { image } = machine.config!.node!.cluster.staticPods[name]
    const pod: StaticPod = {
      name,
      image,
      ready: false,
      isPullFailing: false,
      isCrashing: false,
      runs,
      startedAt: machine.world.clock.now(),
    }
    machine.staticPods.set(name, pod)
    const isChanged = changeOf(machine, pod)
    if (await pulled(machine, pod, isChanged, signal)) {
      await machine.takes(TAKES.apiServer, signal)
      // A program that finds no etcd ends, and the kubelet starts it until etcd is back.
      await machine.until(() => machine.services.isUp('etcd') || isChanged(), signal)
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

/** The newest text of each resource of a machine, and the number of its changes. */
const resourcesOf = new WeakMap<Machine, Map<string, { version: number; text: string }>>()

/** The version of a resource with this text: every other text gets the next number. */
const versioned = (machine: Machine, resource: string, text: string) => {
  let all = resourcesOf.get(machine)
  if (!all) resourcesOf.set(machine, (all = new Map()))
  const last = all.get(resource)
  if (last?.text === text) return last
  const next = { version: (last?.version ?? 0) + 1, text }
  all.set(resource, next)
  return next
}

/**
 * What the machine's configuration has for a static pod, by the annotation with its number. Every
 * change of secrets or files restarts all static pods (Talos:
 * controllers/k8s/control_plane_static_pod.go).
 */
const textsOf = (machine: Machine, name: StaticPodName): Record<PodAnnotation, string> => {
  const cluster = machine.config?.node?.cluster
  const secrets = cluster && [
    cluster.ca,
    cluster.acceptedCas,
    cluster.aggregatorCa,
    cluster.serviceAccountKey,
    cluster.encryption,
    cluster.apiServerSans,
    cluster.endpoint,
  ]
  return {
    config: JSON.stringify(cluster?.staticPods[name]),
    secrets: JSON.stringify(secrets),
    'config-file': cluster?.staticPodFiles ?? '',
  }
}

/**
 * What a static pod runs with once it has the machine's configuration. All pods share the secrets
 * and the files.
 */
export const wantedBy = (machine: Machine, name: StaticPodName): StaticPod['runs'] => {
  const texts = textsOf(machine, name)
  return {
    config: versioned(machine, name, texts.config),
    secrets: versioned(machine, 'secrets', texts.secrets),
    'config-file': versioned(machine, 'config-file', texts['config-file']),
  }
}

/**
 * Returns a function that tells whether the pod runs with something old. It compares only after a
 * new configuration.
 */
const changeOf = (machine: Machine, { name, runs }: StaticPod): (() => boolean) => {
  let seen = machine.config
  let isChanged = false
  return () => {
    if (machine.config !== seen) {
      seen = machine.config
      const wanted = wantedBy(machine, name)
      isChanged = POD_ANNOTATIONS.some((what) => wanted[what].version !== runs[what].version)
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
