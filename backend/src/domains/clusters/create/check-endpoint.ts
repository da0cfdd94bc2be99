import {
  type Address,
  type Cidr,
  contains,
  formatAddress,
  formatCidr,
  parseAddress,
} from '#contract/network/addresses.ts'
import { isLoopback } from '#contract/network/special-ranges.ts'
import { type NewCluster } from '#contract/clusters/clusters.ts'
import type { ServerFacts } from '../../servers/api.ts'
import { anyLink } from '../../configurations/api.ts'
import type { Db, Tx } from '../../../db/db.ts'
import { listed } from '../../../sentences.ts'
import * as store from '../store.ts'
import type { Surroundings, Find } from './judged.ts'
import type { ChosenServer } from '../blueprint.ts'

export function endpointUrl(host: string): string {
  const address = parseAddress(host)
  return `https://${address?.family === 6 ? `[${formatAddress(address)}]` : address ? formatAddress(address) : host.toLowerCase()}:6443`
}

export const bare = (address: string): Address | null => parseAddress(address.split('/', 1)[0]!)
const same = (a: Address | null, b: Address | null) =>
  a !== null && b !== null && a.family === b.family && a.value === b.value

/** The network of an address with prefix. */
export function networkOf(addressWithPrefix: string): Cidr | null {
  const [host, prefix] = addressWithPrefix.split('/')
  const address = parseAddress(host!)
  if (!address || prefix === undefined) return null
  const hostBits = BigInt((address.family === 4 ? 32 : 128) - Number(prefix))
  return {
    family: address.family,
    base: (address.value >> hostBits) << hostBits,
    prefix: Number(prefix),
  }
}

/** The gateways of a server's default routes. Of a former member, others may lead to its pods. */
export const gatewaysOf = ({ hardware }: Pick<ServerFacts, 'hardware'>): Address[] =>
  (hardware?.routes ?? []).flatMap(({ destination, gateway }) =>
    destination === '' ? (bare(gateway) ?? []) : [],
  )

/** The network of a server's dialled address, if its prefix is known. */
export const dialledNetwork = (c: ServerFacts): Cidr | null => {
  const address = parseAddress(c.address)
  const told = c.addresses.find((a) => a.includes('/') && same(bare(a), address))
  return told === undefined ? null : networkOf(told)
}

/**
 * Names of other clusters with this endpoint: a DNS name leads to the same machines everywhere, an
 * address in its datacenter.
 */
export async function clustersSharing(
  on: Db | Tx,
  host: string,
  { id, datacenterId }: { readonly id?: string; readonly datacenterId: string | null },
): Promise<string[]> {
  const isName = parseAddress(host) === null
  return (await store.withEndpoint(on, endpointUrl(host)))
    .filter((one) => one.id !== id && (isName || one.datacenter_id === datacenterId))
    .map((one) => one.name)
}

/** Checks the endpoint's address against the networks and the addresses in use. */
export function judgeEndpoint(
  host: string,
  asked: Pick<NewCluster, 'virtual_ip' | 'servers'>,
  servers: readonly Pick<ChosenServer, 'node_id' | 'name' | 'role' | 'candidate'>[],
  around: Pick<Surroundings, 'used' | 'sharing'>,
  networks: { pod: Cidr; service: Cidr },
  find: Find,
  warnings: string[],
): void {
  const address = parseAddress(host)
  const controlPlanes = servers.filter((s) => s.role === 'control_plane')
  const field = 'endpoint'
  const good = `The Kubernetes API will be at ${endpointUrl(host)}`
  if (around.sharing.length > 0 && !asked.virtual_ip)
    warnings.push(
      `${host} is the endpoint of ${listed(around.sharing)} as well: servers of one cluster would reach the Kubernetes API of another and not join. Give each cluster an endpoint of its own.`,
    )
  if (address === null) {
    find('endpoint', asked.virtual_ip ? 'A virtual IP must be an address' : null, good, { field })
    if (!asked.virtual_ip)
      warnings.push(
        `${host} must resolve to the control planes, or to a load balancer in front of them.`,
      )
    return
  }
  const text = formatAddress(address)
  // Simulated machines have loopback addresses themselves.
  const isSimulated = servers.some(({ candidate }) => {
    const own = bare(candidate.address)
    return own !== null && isLoopback(own)
  })
  if (isLoopback(address) && !isSimulated) {
    const problem = `${text} leads each machine to itself: nobody else can reach it`
    find('endpoint', problem, good, { field })
    return
  }
  const inside = contains(networks.pod, address)
    ? 'pod'
    : contains(networks.service, address)
      ? 'service'
      : null
  const owner = around.used.find((u) => same(bare(u.address), address))
  const holder =
    owner?.node_id === undefined
      ? undefined
      : controlPlanes.find((s) => s.node_id === owner.node_id)
  if (inside !== null) {
    find('endpoint', `${text} lies in the ${inside} network`, good, { field })
    return
  }
  if (asked.virtual_ip) {
    const outside = controlPlanes.find((s) => {
      const network = dialledNetwork(s.candidate)
      return network === null || !contains(network, address)
    })
    const edge = controlPlanes
      .map((s) => dialledNetwork(s.candidate))
      .find((n) => n !== null && isEdge(n, address))
    const routed = controlPlanes.find((s) => gatewaysOf(s.candidate).some((g) => same(g, address)))
    const problem = owner
      ? `${text} is in use by ${owner.by}`
      : routed
        ? `${text} is the gateway of ${routed.name}: choose an unused address`
        : edge
          ? `${text} is the network or broadcast address of ${formatCidr(edge)}`
          : outside
            ? `${text} is not in the network of ${outside.name}`
            : null
    find('endpoint', problem, good, { field })
    return
  }
  find(
    'endpoint',
    owner && !holder
      ? `${text} is in use by ${owner.by}, which is no control plane of this cluster`
      : null,
    good,
    { field },
  )
  if (holder)
    warnings.push(
      onOneServer(
        text,
        holder.candidate,
        asked.servers.find((s) => s.node_id === holder.node_id)?.patch?.body,
        controlPlanes.length,
      ),
    )
  if (!owner) warnings.push(`${text} must lead to the control planes' port 6443.`)
}

/**
 * The warning for an endpoint that is a single server's address. `patch`: body of the requested
 * patch, which may configure the link.
 */
function onOneServer(
  address: string,
  { name, link, patch_links }: ServerFacts,
  patch: string | undefined,
  controlPlanes: number,
): string {
  const isConfigured =
    link !== null &&
    (patch_links.includes(link) || patch_links.includes(anyLink) || patch?.includes(link) === true)
  const falls =
    controlPlanes > 1
      ? ` If that server fails, the Kubernetes API is unreachable, however many control planes there are; a virtual IP avoids this.`
      : ''
  return isConfigured
    ? `The API endpoint ${address} is the address of ${name} alone.${falls}`
    : `The API endpoint ${address} depends on the DHCP lease of ${name}: if that server gets another address, nobody can reach the Kubernetes API any more. Reserve the address at the DHCP server, or use a virtual IP or a DNS name.${falls}`
}

const isEdge = (network: Cidr, address: Address): boolean =>
  network.family === 4 &&
  network.prefix <= 30 &&
  (address.value === network.base ||
    address.value === network.base + (1n << BigInt(32 - network.prefix)) - 1n)
