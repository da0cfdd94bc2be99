/** What stands around subnets, put in order once, so that thousands of rows can be held against it. */
import { type Address, type Cidr, lastOf, overlap, parseAddress, parseCidr } from '#contract/network/addresses.ts'
import { isPrivate } from '#contract/network/subnet-rules.ts'
import type { ServerAddress } from '../servers/list/addresses.ts'
import type { ClusterNetworks } from './store.ts'

export interface Placed extends ServerAddress {
  readonly parsed: Address
}

export interface Around {
  /** Servers' addresses inside a CIDR, in order. Private addresses of another datacenter are other places. */
  serversIn(cidr: Cidr, datacenterId: string): Placed[]
  /** The first network of a cluster of the datacenter that shares addresses with a CIDR. */
  shadow(cidr: Cidr, datacenterId: string): { what: 'pod' | 'service'; network: string; cluster: ClusterNetworks } | undefined
}

export function around(held: readonly ServerAddress[], clusters: readonly ClusterNetworks[]): Around {
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
    serversIn(cidr, datacenterId) {
      const all = sorted.get(cidr.family) ?? []
      const last = lastOf(cidr)
      const found: Placed[] = []
      for (let at = firstFrom(all, cidr.base); at < all.length && all[at]!.parsed.value <= last; at++) found.push(all[at]!)
      return isPrivate(cidr) ? found.filter((p) => p.datacenter_id === datacenterId) : found
    },
    shadow: (cidr, datacenterId) => networks.get(datacenterId)?.find((n) => overlap(n.cidr, cidr)),
  }
}

/** Index of the first that is not below a value, by halves. */
function firstFrom(all: readonly Placed[], value: bigint): number {
  let [low, high] = [0, all.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (all[middle]!.parsed.value < value) low = middle + 1
    else high = middle
  }
  return low
}
