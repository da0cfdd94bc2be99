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
import { refused, unreachableReason } from '#contract/network/special-ranges.ts'
import { isPrivate } from '#contract/network/subnet-rules.ts'
import { defaultPodCidr, defaultServiceCidr } from '#contract/clusters/clusters.ts'
import { familyProblem } from '#contract/clusters/network-rules.ts'
import type { ServerFacts } from '../../servers/api.ts'
import { listed } from '../../../sentences.ts'
import { bare, gatewaysOf, networkOf } from './check-endpoint.ts'
import type { Find, Surroundings } from './judged.ts'
import type { ChosenServer, Resolved } from '../blueprint.ts'

/** Servers that a sentence names at most. */
const mostNamed = 24

type Judged = readonly Pick<ChosenServer, 'name' | 'candidate'>[]

/**
 * The pod and service networks must not overlap each other, a subnet or addresses that lead to no
 * machine, or contain an address of a server or of its gateway.
 */
export function judgeNetworks(
  pod: Cidr,
  service: Cidr,
  around: Surroundings,
  servers: Judged,
  find: Find,
): void {
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
    // Linux routes the reserved addresses of IPv4 (RFC 1112 §4), and clouds give them to pods.
    const special = refused.find(
      ([range, kind]) => overlap(range, cidr) && (range.family === 6 || kind !== 'reserved'),
    )
    const routed = servers.find((s) => containsGateway(cidr, s.candidate))
    const problem = special
      ? `The ${what} network ${formatCidr(cidr)} overlaps with ${formatCidr(special[0])}, a ${special[1]} range: choose a private network, such as ${examples[cidr.family][what]}`
      : overlap(cidr, other)
        ? `The ${what} network ${formatCidr(cidr)} overlaps with the ${what === 'pod' ? 'service' : 'pod'} network ${formatCidr(other)}`
        : subnet
          ? `The ${what} network ${formatCidr(cidr)} overlaps with subnet ${subnet.name} (${subnet.cidr})`
          : inside
            ? `The ${what} network ${formatCidr(cidr)} contains ${inside.address.split('/', 1)[0]}, the address of ${inside.by}`
            : routed
              ? `The ${what} network ${formatCidr(cidr)} contains the gateway of ${routed.name}, which could then reach nothing outside of its network`
              : sizeProblem(what, cidr)
    find(field, problem, `The ${what} network ${formatCidr(cidr)} is free`, { field })
  }
}

const examples = {
  4: { pod: defaultPodCidr, service: defaultServiceCidr },
  6: { pod: 'fd00:10:244::/56', service: 'fd00:10:96::/112' },
} as const

/** Whether the server's way out of its network would lie in the network of pods or services. */
const containsGateway = (cidr: Cidr, server: Pick<ServerFacts, 'hardware'>): boolean =>
  gatewaysOf(server).some((gateway) => contains(cidr, gateway))

/** Warnings about networks that Kubernetes accepts and that hide other machines from it. */
export function networkWarnings(pod: Cidr, service: Cidr, servers: Judged): string[] {
  return [['pod', pod] as const, ['service', service] as const].flatMap(([what, cidr]) => {
    const text = `The ${what} network ${formatCidr(cidr)}`
    const inside = servers.flatMap(({ name, candidate }) => {
      const network = candidate.addresses
        .map(networkOf)
        .find((one) => one !== null && overlap(one, cidr))
      return network ? [{ name, network }] : []
    })[0]
    return [
      // Owners have global addresses of IPv6 of their own, and give them to pods.
      ...(cidr.family === 6 || isPrivate(cidr)
        ? []
        : [
            `${text} is not in private address space: nothing in the cluster can reach the machines that have its addresses elsewhere.`,
          ]),
      ...(inside
        ? [
            `${text} lies in the network of ${inside.name} (${formatCidr(inside.network)}): the cluster can't reach other machines there that have its addresses.`,
          ]
        : []),
    ]
  })
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
export function judgeFamilies(pod: Cidr, service: Cidr, servers: Judged, find: Find): void {
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

/**
 * Why a server can't join a cluster with these networks, or null. The creation checked them for its
 * own servers only.
 */
export function joiningProblem(
  { pod_cidr, service_cidr }: Pick<Resolved, 'pod_cidr' | 'service_cidr'>,
  server: Pick<ServerFacts, 'name' | 'address' | 'addresses' | 'hardware'>,
): string | null {
  for (const [what, text] of [['pod', pod_cidr] as const, ['service', service_cidr] as const]) {
    const cidr = parseCidr(text)
    if (cidr === null) continue
    const network = `The ${what} network ${formatCidr(cidr)} of the cluster`
    const own = [server.address, ...server.addresses].map(bare)
    if (own.some((a) => a !== null && contains(cidr, a)))
      return `${network} contains an address of ${server.name}`
    if (containsGateway(cidr, server)) return `${network} contains the gateway of ${server.name}`
    if (lacksFamily(server, cidr.family))
      return `${network} needs IPv${cidr.family} addresses, and ${server.name} has none: Kubernetes does not start on it`
  }
  return null
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
