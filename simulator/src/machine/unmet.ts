/**
 * The conditions that keep a machine from being ready (Talos:
 * controllers/runtime/machine_status.go).
 */
import { STATIC_PODS } from '../config/node-config.ts'
import type { Machine } from './machine.ts'
import type { Unmet } from './stage.ts'

export const unmetBy = (machine: Machine): Unmet[] => {
  const { config, hostname } = machine
  if (!config?.node) return []
  const isControlPlane = config.node.role === 'controlplane'
  const checks: readonly [name: string, problems: readonly string[]][] = [
    ['time', machine.isTimeSynced ? [] : ['time is not synced']],
    ['network', networkProblems(machine)],
    ['services', serviceProblems(machine, isControlPlane)],
    ['staticPods', isControlPlane ? unreadyPods(machine) : []],
    ['nodeReady', nodeProblems(machine, hostname)],
  ]
  return checks
    .filter(([, problems]) => problems.length > 0)
    .map(([name, problems]) => ({ name, reason: problems.join(', ') }))
}

/**
 * A machine without an address has no default route either, which counts as connectivity
 * (`networkReadyCheck`; controllers/network/status.go).
 */
const networkProblems = ({ hasAddress }: Machine): string[] =>
  hasAddress ? [] : ['waiting on: address, connectivity']

/**
 * Services that run and are not healthy, those of extensions too, and then the required ones that
 * don't run (`servicesCheck`).
 */
const serviceProblems = ({ services }: Machine, isControlPlane: boolean): string[] => [
  ...services.all
    .filter(({ state, healthy }) => state === 'Running' && healthy === false)
    .map(({ id }) => `${id} not healthy`),
  ...['apid', 'machined', 'kubelet', ...(isControlPlane ? ['etcd', 'trustd'] : [])]
    .filter((id) => !services.isRunning(id))
    .map((id) => `${id} not running`),
]

const nodeProblems = ({ nodeReady, isRegistered }: Machine, hostname: string): string[] =>
  nodeReady
    ? []
    : [`node "${hostname}" ${isRegistered ? 'is not ready' : 'status is not available yet'}`]

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
