/** Server addresses and cluster networks, sorted once, so that thousands of subnets can be compared with them. */
import { type Address, type Cidr, lastOf, overlap, parseAddress, parseCidr } from '#contract/network/addresses.ts'
import { isPrivate } from '#contract/network/subnet-rules.ts'
import type { ServerAddress } from '../servers/list/addresses.ts'
import type { ClusterNetworks } from './store.ts'

export interface Placed extends ServerAddress {
  readonly parsed: Address
}

export type Neighbours = ReturnType<typeof neighbours>

export function neighbours(held: readonly ServerAddress[], clusters: readonly ClusterNetworks[]) {
  const placed = held.flatMap((h): Placed[] => {
    const parsed = parseAddress(h.address)
    return parsed ? [{ ...h, parsed }] : []
  })
  const sorted = Map.groupBy(
    placed.toSorted((a, b) => (a.parsed.value < b.parsed.value ? -1 : a.parsed.value > b.parsed.value ? 1 : 0)),
    (p) => p.parsed.family,
  )
  const networks = Map.groupBy(
    clusters.flatMap((cluster) =>
      (['pod', 'service'] as const).map((what) => {
        const network = what === 'pod' ? cluster.pod_cidr : cluster.service_cidr
        return { what, network, cluster, cidr: parseCidr(network)! }
      }),
    ),
    (n) => n.cluster.datacenter_id,
  )
  return {
    /** Servers' addresses inside a CIDR, in order. A private address in another datacenter is another place. */
    serversIn(cidr: Cidr, datacenterId: string): Placed[] {
      const all = sorted.get(cidr.family) ?? []
      const last = lastOf(cidr)
      const found: Placed[] = []
      for (let at = firstFrom(all, cidr.base); at < all.length && all[at]!.parsed.value <= last; at++) found.push(all[at]!)
      return isPrivate(cidr) ? found.filter((p) => p.datacenter_id === datacenterId) : found
    },
    /** The first network of a cluster of the datacenter that shares addresses with a CIDR. */
    shadow: (cidr: Cidr, datacenterId: string) => networks.get(datacenterId)?.find((n) => overlap(n.cidr, cidr)),
  }
}

/** Index of the first address that is not below a value, by binary search. */
function firstFrom(all: readonly Placed[], value: bigint): number {
  let [low, high] = [0, all.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (all[middle]!.parsed.value < value) low = middle + 1
    else high = middle
  }
  return low
}
