/**
 * What else uses the address space of subnets: servers, cluster networks and other subnets. Sorted
 * only once, so that thousands can be compared.
 */
import {
  type Address,
  type Cidr,
  contains,
  lastOf,
  overlap,
  parseAddress,
  parseCidr,
} from '#contract/network/addresses.ts'
import { virtualHosts } from '#contract/clusters/endpoint.ts'
import { isPrivate } from '#contract/network/subnet-rules.ts'
import type { ServerAddress } from '../servers/api.ts'
import type { ReadRow } from './csv-rows.ts'
import { scopeOf } from './rules.ts'
import type { SubnetRow } from './store-read.ts'
import type { ClusterNetworks } from './store.ts'

interface Placed extends ServerAddress {
  readonly parsed: Address
}

export type Neighbours = ReturnType<typeof neighbours>

export function neighbours(held: readonly ServerAddress[], clusters: readonly ClusterNetworks[]) {
  const placed = held.flatMap((h): Placed[] => {
    const parsed = parseAddress(h.address)
    return parsed ? [{ ...h, parsed }] : []
  })
  const sorted = Map.groupBy(
    placed.toSorted((a, b) =>
      a.parsed.value < b.parsed.value ? -1 : a.parsed.value > b.parsed.value ? 1 : 0,
    ),
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
    /**
     * Servers' addresses inside of a CIDR, in order. A private address in another datacenter isn't
     * the same address.
     */
    serversIn(cidr: Cidr, datacenterId: string): Placed[] {
      const all = sorted.get(cidr.family) ?? []
      const last = lastOf(cidr)
      const found: Placed[] = []
      for (
        let at = firstFrom(all, cidr.base);
        at < all.length && all[at]!.parsed.value <= last;
        at++
      )
        found.push(all[at]!)
      return isPrivate(cidr) ? found.filter((p) => p.datacenter_id === datacenterId) : found
    },
    /** Clusters of the datacenter with a virtual IP, and that address: two while it changes. */
    endpointsIn: (datacenterId: string) =>
      clusters
        .filter((cluster) => cluster.datacenter_id === datacenterId)
        .flatMap((cluster) =>
          virtualHosts(cluster).flatMap((host) => {
            const parsed = parseAddress(host)
            return parsed ? [{ cluster, parsed }] : []
          }),
        ),
    /**
     * The first network that shares addresses with a CIDR, among the networks of the datacenter's
     * clusters.
     */
    shadow: (cidr: Cidr, datacenterId: string) =>
      networks.get(datacenterId)?.find((n) => overlap(n.cidr, cidr)),
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

interface Spaced {
  readonly cidr: Cidr
  /** Null if the row has no valid name. */
  readonly name: string | null
  readonly text: string
  /** Line of the file; null for a subnet that the file doesn't change. */
  readonly line: number | null
  readonly code: string
}

/**
 * One finding for each row that shares address space with another row or with an unchanged subnet.
 * Two CIDRs are either disjoint, or one contains the other, so one pass in the order of first
 * addresses finds all overlaps.
 */
export function overlapsAmong(
  rows: readonly Pick<ReadRow, 'line' | 'name' | 'place'>[],
  standing: readonly SubnetRow[],
): { line: number; message: string }[] {
  const placed = [
    ...rows.flatMap(({ line, name, place }) => (place ? [{ ...place, name, line, code: '' }] : [])),
    ...standing.map((s) => ({ ...s, line: null, code: s.datacenter_code })),
  ].map(({ cidr: text, datacenter_id, name, line, code }) => ({
    scope: scopeOf(text, datacenter_id),
    cidr: parseCidr(text)!,
    text,
    name,
    line,
    code,
  }))
  const found = new Map<number, string>()
  for (const all of Map.groupBy(placed, (p) => p.scope).values()) {
    const enclosing: Spaced[] = []
    for (const one of all.toSorted(inOrder)) {
      while (
        enclosing.length > 0 &&
        !contains(enclosing.at(-1)!.cidr, { family: one.cidr.family, value: one.cidr.base })
      )
        enclosing.pop()
      const outer = enclosing.at(-1)
      if (outer) tell(found, outer, one)
      enclosing.push(one)
    }
  }
  return [...found].map(([line, message]) => ({ line, message }))
}

/**
 * Order by family, first address, size (larger first). Of equal CIDRs, an unchanged subnet comes
 * first, then the rows by line.
 */
const inOrder = (a: Spaced, b: Spaced): number =>
  a.cidr.family - b.cidr.family ||
  (a.cidr.base < b.cidr.base
    ? -1
    : a.cidr.base > b.cidr.base
      ? 1
      : a.cidr.prefix - b.cidr.prefix || (a.line ?? 0) - (b.line ?? 0))

/**
 * If two rows overlap, the later row gets the finding; if a row and an unchanged subnet overlap,
 * the row does.
 */
function tell(found: Map<number, string>, outer: Spaced, inner: Spaced): void {
  const [wrong, other] =
    inner.line !== null && (outer.line === null || inner.line > outer.line)
      ? [inner, outer]
      : [outer, inner]
  if (wrong.line === null || found.has(wrong.line)) return
  found.set(
    wrong.line,
    other.line === null
      ? `Overlaps with subnet ${other.name} (${other.text}) in ${other.code}`
      : `Overlaps with ${other.name === null ? other.text : `${other.name} (${other.text})`} in line ${other.line}`,
  )
}
