/** The answer of the address map, read into runs of numbers; and the runs that a subnet in a form would have. */
import { type Cidr, parseAddress, parseCidr } from '#contract/addresses.ts'
import { mergeRanges, type Range, rangeOfAddress, rangeOfCidr, withoutRanges } from '#contract/address-ranges.ts'
import { readExclusions, type SubnetText, usableRange } from '#contract/subnet-rules.ts'
import type { AddressRun } from '#contract/subnets.ts'
import type { CellState, MapRun } from '../../ui/address-grid.ts'

export interface SubnetRun extends MapRun {
  /** Why it is reserved, or what uses it. */
  readonly by: string | null
  /** Id of the server that has it. */
  readonly nodeId: string | null
}

/** An address of the API, which writes each in its one spelling: IPv4 needs no more than its four numbers. */
function valueOf(text: string): bigint {
  if (text.includes(':')) return parseAddress(text)?.value ?? 0n
  let value = 0
  for (const octet of text.split('.')) value = value * 256 + Number(octet)
  return BigInt(value)
}

/** An answer is read once, however often its map is opened: it may have a run for each of 65,536 addresses. */
const known = new WeakMap<readonly AddressRun[], SubnetRun[]>()

export function readRuns(runs: readonly AddressRun[]): SubnetRun[] {
  const before = known.get(runs)
  if (before) return before
  const read = runs.map(({ first, last, state, by, node_id }): SubnetRun => {
    const from = valueOf(first)
    return { first: from, last: first === last ? from : valueOf(last), state, by, nodeId: node_id }
  })
  known.set(runs, read)
  return read
}

/** What the map of a subnet would show before anybody uses it. Null while its text is not valid. */
export function runsOfText(subnet: SubnetText): { cidr: Cidr; runs: SubnetRun[] } | null {
  const cidr = parseCidr(subnet.cidr)
  const excluded = cidr && readExclusions(subnet.exclude, cidr)
  if (!cidr || !excluded?.ok) return null
  const gateway = subnet.gateway === null ? null : parseAddress(subnet.gateway)
  const holes = mergeRanges(excluded.entries.map((e) => e.range))
  const usable = usableRange(cidr, subnet.first_and_last)
  const taken: { range: Range; state: CellState; by: string | null }[] = [
    ...(gateway && gateway.family === cidr.family ? [{ range: rangeOfAddress(gateway), state: 'gateway' as const, by: null }] : []),
    ...holes.map((range) => ({ range, state: 'excluded' as const, by: null })),
    ...withoutRanges(rangeOfCidr(cidr), [usable]).map((range) => ({
      range,
      state: 'reserved' as const,
      by: range.first === cidr.base ? (cidr.family === 4 ? 'network address' : 'subnet-router anycast') : 'broadcast address',
    })),
  ]
  // Whoever comes first keeps an address: the gateway before an exclusion that names it too.
  const runs: SubnetRun[] = []
  let left: Range[] = [rangeOfCidr(cidr)]
  for (const { range, state, by } of taken) {
    for (const piece of left) {
      const [first, last] = [range.first > piece.first ? range.first : piece.first, range.last < piece.last ? range.last : piece.last]
      if (first <= last) runs.push({ first, last, state, by, nodeId: null })
    }
    left = left.flatMap((piece) => withoutRanges(piece, [range]))
  }
  const free = left.map(({ first, last }) => ({ first, last, state: 'free' as const, by: null, nodeId: null }))
  return { cidr, runs: [...runs, ...free].toSorted((a, b) => (a.first < b.first ? -1 : 1)) }
}
