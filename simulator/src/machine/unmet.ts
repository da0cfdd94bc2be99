/**
 * The conditions that keep a machine from being ready (Talos:
 * controllers/runtime/machine_status.go).
 */
import { STATIC_PODS } from '../config/node-config.ts'
import type { Machine } from './machine.ts'
import type { Unmet } from './stage.ts'

export const unmetBy = (machine: Machine): Unmet[] => {
  const { config, services } = machine
  if (!config?.node) return []
  const isControlPlane = config.node.role === 'controlplane'
  const required = [
    'apid',
    'kubelet',
    'machined',
    ...(isControlPlane ? ['etcd', 'trustd'] : []),
  ].toSorted()
  const unmet: Unmet[] = machine.isTimeSynced
    ? []
    : [{ name: 'time', reason: 'time is not synced' }]
  const down = required
    .filter((id) => !services.isUp(id))
    .map((id) => `${id} ${services.isRunning(id) ? 'not healthy' : 'not running'}`)
  if (down.length > 0) unmet.push({ name: 'services', reason: down.join(', ') })
  const pods = isControlPlane ? unreadyPods(machine) : []
  if (pods.length > 0) unmet.push({ name: 'staticPods', reason: pods.join(', ') })
  if (!machine.nodeReady)
    unmet.push({ name: 'nodeReady', reason: `node "${machine.hostname}" status is not ready` })
  return unmet
}

/** The problem of each unhealthy static pod (`staticPodsCheck`). */
const unreadyPods = (machine: Machine): string[] => {
  const unready = [...machine.staticPods.values()].filter(({ ready }) => !ready)
  if (unready.length > 0)
    return unready.map(
      ({ name, isPullFailing }) =>
        `kube-system/${name}-${machine.hostname} ${isPullFailing ? 'pending' : 'not ready'}`,
    )
  return machine.apiServerUp ? [] : STATIC_PODS.map((name) => `kube-system/${name} not running`)
}
