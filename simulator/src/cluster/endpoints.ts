import { isIPv4 } from 'node:net'
import { TAKES } from '../machine/durations.ts'
import type { Machine } from '../machine/machine.ts'
import type { EtcdCluster } from './etcd.ts'

/**
 * The error of Talos if a machine knows no control plane of its cluster (Talos:
 * internal/pkg/etcd/endpoints.go).
 */
const NONE = 'no controlplane endpoints discovered yet'

/**
 * The machines that discovery shows to a machine: all running machines with the same cluster id and
 * secret, if discovery is on.
 */
export const discoveredBy = (machine: Machine): Machine[] => {
  const own = machine.config?.node?.cluster
  if (!own?.discovery) return []
  return machine.world.machines.filter(({ config, mode }) => {
    const other = config?.node?.cluster
    return (
      mode === 'secured' &&
      other?.discovery === true &&
      other.id === own.id &&
      other.secret === own.secret
    )
  })
}

/**
 * Addresses of control planes that a machine knows: from discovery, the host of the cluster's
 * endpoint if it is an address, and from Kubernetes (Talos: controllers/cluster/endpoint.go,
 * controllers/k8s/static_endpoint.go, controllers/k8s/endpoint.go).
 */
const endpointsOf = (machine: Machine): string[] => {
  const { cluster } = machine.config!.node!
  const discovered = discoveredBy(machine).filter(
    ({ config }) => config?.node?.role === 'controlplane',
  )
  const host = URL.canParse(cluster.endpoint) ? new URL(cluster.endpoint).hostname : ''
  const served = machine.world.machines.filter(
    ({ apiServerUp, config }) => apiServerUp && config?.node?.cluster.id === cluster.id,
  )
  return [
    ...(isIPv4(host) ? [host] : []),
    ...[...discovered, ...served].map(({ plan }) => plan.address),
  ]
}

/**
 * Whether a machine reaches an etcd through the control planes that it knows. `unreachable`: Talos
 * waits until the caller's deadline. Otherwise `none`, Talos's error, or `reached`.
 */
const reach = (machine: Machine, cluster: EtcdCluster): 'reached' | 'unreachable' | typeof NONE => {
  const endpoints = endpointsOf(machine)
  if (endpoints.length === 0) return NONE
  return cluster.state.members.some(
    (member) => endpoints.includes(member.address) && cluster.isAlive(member),
  )
    ? 'reached'
    : 'unreachable'
}

export const reachesEtcd = (machine: Machine, cluster: EtcdCluster): boolean =>
  reach(machine, cluster) === 'reached'

/**
 * Why a call that needs another control plane fails, or null. Waits for the end of the call if the
 * known control planes don't answer.
 */
export const whyNoEtcd = async (
  machine: Machine,
  cluster: EtcdCluster,
  signal: AbortSignal,
): Promise<string | null> => {
  for (;;) {
    const found = reach(machine, cluster)
    if (found !== 'unreachable') return found === NONE ? NONE : null
    await machine.looksAgainAfter(TAKES.etcdLook, signal)
  }
}
