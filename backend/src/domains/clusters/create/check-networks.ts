/**
 * The networks of a new cluster against the addresses that are known: overlaps, sizes, and families
 * of addresses. Pure.
 */
import {
  type Cidr,
  contains,
  formatAddress,
  formatCidr,
  overlap,
  parseCidr,
} from '#contract/network/addresses.ts'
import { unreachableReason } from '#contract/network/special-ranges.ts'
import { familyProblem } from '#contract/clusters/network-rules.ts'
import type { ServerFacts } from '../../servers/api.ts'
import { listed } from '../sentences.ts'
import { bare } from './check-endpoint.ts'
import type { Find, Surroundings } from './judged.ts'
import type { ChosenServer } from '../blueprint.ts'

/** Servers that a sentence names at most. */
const mostNamed = 24

/**
 * The pod and service networks must not overlap each other or a subnet, or contain a server's
 * address.
 */
export function judgeNetworks(pod: Cidr, service: Cidr, around: Surroundings, find: Find): void {
  for (const [field, what, cidr] of [
    ['pod_cidr', 'pod', pod],
    ['service_cidr', 'service', service],
  ] as const) {
    const other = field === 'pod_cidr' ? service : pod
    const subnet = around.subnets.find((s) => overlap(parseCidr(s.cidr)!, cidr))
    const inside = around.used.find((u) => {
      const address = bare(u.address)
      return address !== null && contains(cidr, address)
    })
    const problem = overlap(cidr, other)
      ? `The ${what} network ${formatCidr(cidr)} overlaps with the ${what === 'pod' ? 'service' : 'pod'} network ${formatCidr(other)}`
      : subnet
        ? `The ${what} network ${formatCidr(cidr)} overlaps with subnet ${subnet.name} (${subnet.cidr})`
        : inside
          ? `The ${what} network ${formatCidr(cidr)} contains ${inside.address.split('/', 1)[0]}, the address of ${inside.by}`
          : sizeProblem(what, cidr)
    find(field, problem, `The ${what} network ${formatCidr(cidr)} is free`, { field })
  }
}

/**
 * Kubernetes assigns each node a /24 (IPv6 /64) of the pod network, and allows at most 20 host bits
 * for services.
 */
function sizeProblem(what: 'pod' | 'service', cidr: Cidr): string | null {
  const bits = cidr.family === 4 ? 32 : 128
  if (what === 'pod') {
    const perNode = cidr.family === 4 ? 24 : 64
    // kube-controller-manager refuses more than 16 bits between both in IPv6
    // (`clusterSubnetMaxDiff`). The same limit is kept in IPv4.
    if (perNode - cidr.prefix > 16) return `The pod network must be a /${perNode - 16} or smaller`
    return cidr.prefix > perNode
      ? `The pod network must be a /${perNode} or larger: every node takes a /${perNode} of it`
      : null
  }
  if (bits - cidr.prefix > 20) return `The service network must be a /${bits - 20} or smaller`
  return bits - cidr.prefix < 4 ? `The service network must be a /${bits - 4} or larger` : null
}

/**
 * Pods and services must have addresses of a family that every server has: kube-apiserver refuses
 * services of another family than its own address (`service IP family must match public address
 * family`), and without an address of the pods' family Talos starts no kubelet (`nodeip.go`).
 */
export function judgeFamilies(
  pod: Cidr,
  service: Cidr,
  servers: readonly Pick<ChosenServer, 'name' | 'candidate'>[],
  find: Find,
): void {
  const good = `Pods, services and servers have IPv${pod.family} addresses`
  const field = 'service_cidr'
  const problem = familyProblem(pod, service)
  if (problem !== null) {
    find('address_families', problem, good, { field })
    return
  }
  const without = servers.filter(({ candidate }) => lacksFamily(candidate, pod.family))
  const names = listed(
    without.map((s) => s.name),
    mostNamed,
  )
  find(
    'address_families',
    without.length === 0
      ? null
      : `${names} ${without.length === 1 ? 'has' : 'have'} no IPv${pod.family} address, so Kubernetes does not start with IPv${pod.family} pods and services: choose IPv${pod.family === 4 ? 6 : 4} networks`,
    good,
    { field },
  )
}

/** Whether the server has reported its addresses, and none that others reach is of the family. */
function lacksFamily(
  { address, addresses }: Pick<ServerFacts, 'address' | 'addresses'>,
  family: 4 | 6,
): boolean {
  if (!addresses.some((a) => a.includes('/'))) return false
  return ![address, ...addresses].some((text) => {
    const own = bare(text)
    return own?.family === family && unreachableReason(formatAddress(own)) === null
  })
}
