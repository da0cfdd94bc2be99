/** Every address of a subnet as runs of one state. The largest maps hold a run for each of 65,536 addresses, so the JSON text is written directly. */
import { type Cidr, contains, formatAddress, lastOf, parseAddress, parseCidr } from '#contract/addresses.ts'
import { mergeRanges, type Range, rangeOfAddress, withoutRanges } from '#contract/address-ranges.ts'
import { isPrivate, piecesOf, readExclusions, usableRange } from '#contract/subnet-rules.ts'
import type { AddressRun } from '#contract/subnets.ts'
import type { ServerAddress } from '../servers/addresses.ts'
import type { MapRow, usesInOrder } from './store.ts'

type Uses = Awaited<ReturnType<typeof usesInOrder>>

interface Run extends Pick<Range, 'first' | 'last'> {
  readonly state: AddressRun['state']
  readonly by: string | null
}

/** One address, and what has it. */
interface Holder {
  readonly value: bigint
  readonly text: string
  readonly by: string
  readonly nodeId: string | null
}

/** What the subnet itself says of its addresses, in order and without gaps. */
function declaredRuns(row: MapRow, cidr: Cidr): Run[] {
  const { family } = cidr
  const whole = { family, first: cidr.base, last: lastOf(cidr) }
  const gateway = row.gateway === null ? [] : [rangeOfAddress(parseAddress(row.gateway)!)]
  // The gateway of an IPv6 network may have its first address, which is that of all its routers (RFC 4291, 2.6.1).
  const reserved = withoutRanges(whole, [usableRange(cidr, row.first_and_last), ...gateway])
  const read = readExclusions(row.exclude, cidr)
  const exclusions = read.ok ? mergeRanges(read.entries.map((e) => e.range)) : []
  const why = (r: Range) => (r.first !== cidr.base ? 'Broadcast address' : family === 4 ? 'Network address' : 'Subnet-router anycast address')
  return [
    ...reserved.map((r): Run => ({ ...r, state: 'reserved', by: why(r) })),
    ...gateway.map((r): Run => ({ ...r, state: 'gateway', by: null })),
    ...exclusions.flatMap((e) => withoutRanges(e, [...reserved, ...gateway])).map((r): Run => ({ ...r, state: 'excluded', by: null })),
    ...piecesOf(row).map((r): Run => ({ ...r, state: 'free', by: null })),
  ].toSorted((a, b) => (a.first < b.first ? -1 : 1))
}

/** In order, one for each address; what a cluster was seen to use comes before the server whose address it is. */
function holders(row: MapRow, cidr: Cidr, { addresses, usedBy }: Uses, held: readonly ServerAddress[]): Holder[] {
  const used: Holder[] = []
  for (const [i, text] of addresses.entries()) {
    const before = used.at(-1)
    if (before?.text === text) used[used.length - 1] = { ...before, by: `${before.by}, ${usedBy[i]!}` }
    else used.push({ value: parseAddress(text)!.value, text, by: usedBy[i]!, nodeId: null })
  }
  const servers: Holder[] = []
  for (const { address: text, name, node_id, datacenter_id } of held) {
    if (datacenter_id !== row.datacenter_id && isPrivate(cidr)) continue
    const address = parseAddress(text)
    if (address && contains(cidr, address)) servers.push({ value: address.value, text, by: name, nodeId: node_id })
  }
  if (servers.length === 0) return used
  const taken = new Set(used.map((u) => u.text))
  const unused = servers.filter(({ text }) => !taken.has(text) && taken.add(text))
  return [...used, ...unused].toSorted((one, other) => (one.value < other.value ? -1 : 1))
}

const json = (first: string, last: string, state: string, by: string | null, nodeId: string | null): string =>
  `{"first":"${first}","last":"${last}","state":"${state}","by":${JSON.stringify(by)},"node_id":${JSON.stringify(nodeId)}}`

/** The answer of `subnetAddresses` as JSON text. */
export function addressMap(row: MapRow, uses: Uses, held: readonly ServerAddress[]): string {
  const cidr = parseCidr(row.cidr)!
  const text = (value: bigint) => formatAddress({ family: cidr.family, value })
  const taken = holders(row, cidr, uses, held)
  const runs: string[] = []
  let at = 0
  for (const { first, last, state, by } of declaredRuns(row, cidr)) {
    let from = first
    for (let holder = taken[at]; holder && holder.value <= last; holder = taken[++at]) {
      if (holder.value > from) runs.push(json(text(from), text(holder.value - 1n), state, by, null))
      runs.push(json(holder.text, holder.text, state === 'gateway' ? 'gateway' : 'used', holder.by, holder.nodeId))
      from = holder.value + 1n
    }
    if (from <= last) runs.push(json(text(from), text(last), state, by, null))
  }
  return `{"cidr":"${row.cidr}","observed_at":${JSON.stringify(row.observed_at)},"runs":[${runs.join(',')}]}`
}
