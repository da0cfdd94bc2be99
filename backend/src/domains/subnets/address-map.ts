/** Every address of a subnet as runs of one state. The largest maps hold a run for each of 65,536 addresses, so the JSON text is written directly. */
import { type Cidr, contains, formatAddress, lastOf, parseAddress, parseCidr } from '#contract/addresses.ts'
import { mergeRanges, type Range, rangeOfAddress, withoutRanges } from '#contract/address-ranges.ts'
import { piecesOf, readExclusions, usableRange } from '#contract/subnet-rules.ts'
import type { AddressRun } from '#contract/subnets.ts'
import type { ServerAddress } from '../servers/addresses.ts'
import { isNear } from './rules.ts'
import type { SubnetRow, Use } from './store.ts'

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
function declaredRuns(row: SubnetRow, cidr: Cidr): Run[] {
  const { family } = cidr
  const whole = { family, first: cidr.base, last: lastOf(cidr) }
  const reserved = withoutRanges(whole, [usableRange(cidr, row.first_and_last)])
  const gateway = row.gateway === null ? [] : [rangeOfAddress(parseAddress(row.gateway)!)]
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
function holders(row: SubnetRow, cidr: Cidr, uses: readonly Use[], held: readonly ServerAddress[]): Holder[] {
  const byAddress = new Map<string, Holder>()
  for (const { address: text, used_by } of uses) {
    const known = byAddress.get(text)
    const value = known?.value ?? parseAddress(text)?.value
    if (value !== undefined) byAddress.set(text, { value, text, by: known ? `${known.by}, ${used_by}` : used_by, nodeId: null })
  }
  for (const server of held) {
    if (byAddress.has(server.address) || !isNear(server, row.datacenter_id, cidr)) continue
    const address = parseAddress(server.address)
    if (address && contains(cidr, address))
      byAddress.set(server.address, { value: address.value, text: server.address, by: server.name, nodeId: server.node_id })
  }
  return [...byAddress.values()].toSorted((a, b) => (a.value < b.value ? -1 : 1))
}

const json = (first: string, last: string, state: string, by: string | null, nodeId: string | null): string =>
  `{"first":"${first}","last":"${last}","state":"${state}","by":${JSON.stringify(by)},"node_id":${JSON.stringify(nodeId)}}`

/** The answer of `subnetAddresses` as JSON text. */
export function addressMap(row: SubnetRow, uses: readonly Use[], held: readonly ServerAddress[]): string {
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
