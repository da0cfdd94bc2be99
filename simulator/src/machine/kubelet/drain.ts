import { evict } from '../../kubernetes/workloads/budgets.ts'
import { workloadsRound } from '../../kubernetes/workloads/run.ts'
import { kubernetesOf } from '../../kubernetes/joining.ts'
import { cordonNode, objectsOf } from '../../kubernetes/nodes.ts'
import { Refusal } from '../../kubernetes/refusal.ts'
import {
  controllerOf,
  nameOf,
  namespaceOf,
  nodeNameOf,
  PODS,
  podTarget,
  uidOf,
} from '../../kubernetes/workloads/pods.ts'
import { TAKES } from '../durations.ts'
import type { Machine } from '../machine.ts'

/** Time limit of a drain (Talos: pkg/kubernetes/kubernetes.go, DrainTimeout). */
const DRAIN_MS = 300_000
const CORDON_MS = 60_000

/**
 * Cordons the machine's node and evicts its pods, as Talos does before an upgrade, a shutdown and a
 * graceful reset (Talos: CordonAndDrainNode). Pods without a controller and those of DaemonSets
 * stay. Pods that a disruption budget still protects at the time limit stay as well. Returns why
 * the node can't be cordoned, or null.
 */
export const drain = async (machine: Machine, power: AbortSignal): Promise<string | null> => {
  // A machine that never joined has no node.
  if (!machine.isRegistered) return null
  await machine.takes(TAKES.drain, power)
  const { clock } = machine.world
  const cordonUntil = clock.elapsed() + CORDON_MS
  let cluster = kubernetesOf(machine)
  while (!cluster && clock.elapsed() < cordonUntil) {
    await machine.looksAgainAfter(TAKES.etcdLook, power)
    cluster = kubernetesOf(machine)
  }
  if (!cluster) return 'context deadline exceeded'
  cordonNode(cluster, machine)
  const objects = objectsOf(cluster, machine)
  const waiting = new Map(
    objects
      .list(PODS, '')
      .filter(
        (pod) =>
          nodeNameOf(pod) === machine.hostname &&
          ![undefined, 'DaemonSet'].includes(controllerOf(pod)?.kind as string | undefined),
      )
      .map((pod) => [uidOf(pod), pod]),
  )
  const until = clock.elapsed() + DRAIN_MS
  while (waiting.size > 0 && clock.elapsed() < until && kubernetesOf(machine) === cluster) {
    for (const [uid, pod] of waiting) {
      if (!objects.has(podTarget(pod)) || uidOf(objects.get(podTarget(pod))) !== uid)
        waiting.delete(uid)
      else evictQuietly(machine, objects, pod)
    }
    // The machine's own controllers have stopped, but may be the only ones of the cluster.
    workloadsRound(machine)
    await machine.looksAgainAfter(TAKES.etcdLook, power)
  }
  for (const pod of waiting.values())
    machine.journal.kernel(
      `[talos] WARNING: failed to evict pod: failed to evict pod ${namespaceOf(pod)}/${nameOf(pod)}`,
    )
  return null
}

const evictQuietly = (
  machine: Machine,
  objects: Parameters<typeof evict>[0],
  pod: Parameters<typeof podTarget>[0],
): void => {
  try {
    evict(objects, podTarget(pod), machine.world.clock.now(), false)
  } catch (cause) {
    if (!(cause instanceof Refusal)) throw cause
  }
}
