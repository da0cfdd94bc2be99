import { kubernetesOf, registerNode } from '../kubernetes/nodes.ts'
import { lookUntil } from './control-plane.ts'
import { TAKES } from './durations.ts'
import type { Machine } from './machine.ts'

/** kubelet: starts, finds the cluster's API, registers the machine as a node and reports it ready once its network is up. */
export const runKubelet = async (machine: Machine, signal: AbortSignal): Promise<void> => {
  machine.service('kubelet', 'Preparing', 'Running pre state')
  machine.service('kubelet', 'Starting', 'Starting service')
  await machine.takes(TAKES.kubelet, signal)
  machine.service('kubelet', 'Running', 'Health check successful', true)
  await lookUntil(machine, signal, () => kubernetesOf(machine) !== undefined)
  await machine.takes(TAKES.registerNode, signal)
  await lookUntil(machine, signal, () => kubernetesOf(machine) !== undefined)
  registerNode(kubernetesOf(machine)!, machine)
  await machine.takes(TAKES.nodeReady, signal)
  machine.nodeReady = true
  machine.journal.log('kubelet', `node ${machine.hostname} is ready`)
  machine.evaluate()
  machine.journal.changed()
}
