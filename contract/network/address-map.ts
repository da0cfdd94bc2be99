/**
 * The address map: the state of each address of a subnet, as runs of neighbours with equal state.
 * The API returns the map, the console draws it, and a form previews it for a new subnet. A map may
 * have a run for each of 65,536 addresses, so the work per address is kept minimal.
 */
import { type Cidr, lastOf, parseAddress, parseCidr } from './addresses.ts'
import { mergeRanges, type Range, rangeOfAddress, withoutRanges } from './address-ranges.ts'
import { readExclusions, type SubnetText, usableRange } from './subnet-rules.ts'

/** The states, in the order of the legend. */
export const addressStates = ['used', 'free', 'reserved', 'excluded', 'gateway'] as const
export type AddressState = (typeof addressStates)[number]

/**
 * Neighbouring addresses with one state, both ends included. Each address in use is a run of its
 * own.
 */
export interface MapRun {
  readonly first: bigint
  readonly last: bigint
  readonly state: AddressState
  /**
   * Why the address is reserved (network address, broadcast address), or what uses it:
   * `namespace/name` of a Service, the name of a server.
   */
  readonly by: string | null
  /** Id of the server with this address. */
  readonly nodeId: string | null
}

/**
 * Addresses that clusters use, in order. `usedBy` names what uses the address at the same index.
 * Two clusters may use one address.
 */
export interface Uses {
  readonly addresses: readonly string[]
  readonly usedBy: readonly string[]
}

/** A server's address, if it is inside the subnet. */
export interface Held {
  readonly value: bigint
  readonly by: string
  readonly nodeId: string
}

/** Value of an address in canonical spelling, as the API writes it. */
export function addressValue(text: string): bigint {
  if (text.includes(':')) return parseAddress(text)?.value ?? 0n
  let [value, octet] = [0, 0]
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === 46) [value, octet] = [value * 256 + octet, 0]
    else octet = octet * 10 + code - 48
  }
  return BigInt(value * 256 + octet)
}

/**
 * The runs that follow from a subnet's CIDR, gateway and exclusions, in order and without gaps.
 * Null if its CIDR or exclusions are invalid.
 */
export function declaredRuns(subnet: SubnetText): { cidr: Cidr; runs: MapRun[] } | null {
  const cidr = parseCidr(subnet.cidr)
  const excluded = cidr && readExclusions(subnet.exclude, cidr)
  if (!cidr || !excluded?.ok) return null
  const { family } = cidr
  const whole: Range = { family, first: cidr.base, last: lastOf(cidr) }
  const address = subnet.gateway === null ? null : parseAddress(subnet.gateway)
  const inside =
    address !== null &&
    address.family === family &&
    address.value >= whole.first &&
    address.value <= whole.last
  const gateway = inside ? [rangeOfAddress(address)] : []
  const usable = usableRange(cidr, subnet.first_and_last)
  // The gateway isn't reserved, although in IPv6 it may be the first address, the subnet-router
  // anycast address (RFC 4291, 2.6.1).
  const reserved = withoutRanges(whole, [usable, ...gateway])
  const exclusions = mergeRanges(excluded.entries.map((e) => e.range))
  const why = (r: Range) =>
    r.first !== cidr.base
      ? 'Broadcast address'
      : family === 4
        ? 'Network address'
        : 'Subnet-router anycast address'
  const run = ({ first, last }: Range, state: AddressState, by: string | null = null): MapRun => ({
    first,
    last,
    state,
    by,
    nodeId: null,
  })
  const runs = [
    ...reserved.map((r) => run(r, 'reserved', why(r))),
    ...gateway.map((r) => run(r, 'gateway')),
    ...exclusions
      .flatMap((e) => withoutRanges(e, [...reserved, ...gateway]))
      .map((r) => run(r, 'excluded')),
    ...withoutRanges(usable, [...gateway, ...exclusions]).map((r) => run(r, 'free')),
  ]
  return { cidr, runs: runs.toSorted((a, b) => (a.first < b.first ? -1 : 1)) }
}

/**
 * Adds uses to declared runs. If a cluster uses a server's address, the cluster's use takes
 * precedence. `servers` is sorted by address.
 */
export function withUses(
  declared: readonly MapRun[],
  { addresses, usedBy }: Uses,
  servers: readonly Held[],
): MapRun[] {
  const runs: MapRun[] = []
  const none = 1n << 129n
  let [use, server] = [0, 0]
  let used = addresses.length === 0 ? none : addressValue(addresses[0]!)
  for (const { first, last, state, by } of declared) {
    let from = first
    for (;;) {
      const held = servers[server]
      const value = held !== undefined && held.value < used ? held.value : used
      if (value > last) break
      if (value > from) runs.push({ first: from, last: value - 1n, state, by, nodeId: null })
      let who = held?.by ?? ''
      let nodeId = held?.nodeId ?? null
      if (value === used) {
        who = usedBy[use]!
        nodeId = null
        const text = addresses[use]
        while (addresses[++use] === text) who += `, ${usedBy[use]!}`
        used = use < addresses.length ? addressValue(addresses[use]!) : none
      }
      while (servers[server]?.value === value) server++
      runs.push({
        first: value,
        last: value,
        state: state === 'gateway' ? 'gateway' : 'used',
        by: who,
        nodeId,
      })
      from = value + 1n
    }
    if (from <= last) runs.push({ first: from, last, state, by, nodeId: null })
  }
  return runs
}

/**
 * The parts in which the API returns a map (`subnetMap`): addresses in order, separated by spaces,
 * and what uses each address, one per line.
 */
export interface MapParts {
  readonly runs: readonly { first: string; last: string; state: AddressState; by: string | null }[]
  readonly used: { addresses: string; by: string }
  readonly servers: readonly { address: string; by: string; node_id: string }[]
}

/** Splits the two texts into items. */
export const usesOf = ({ addresses, by }: MapParts['used']): Uses =>
  addresses === ''
    ? { addresses: [], usedBy: [] }
    : { addresses: addresses.split(' '), usedBy: by.split('\n') }

/** Assembles a map from its parts. */
export function runsOfParts({ runs, used, servers }: MapParts): MapRun[] {
  const declared = runs.map(({ first, last, state, by }): MapRun => ({
    first: addressValue(first),
    last: addressValue(last),
    state,
    by,
    nodeId: null,
  }))
  return withUses(
    declared,
    usesOf(used),
    servers.map(({ address, by, node_id }) => ({
      value: addressValue(address),
      by,
      nodeId: node_id,
    })),
  )
}
