/** Sets of addresses as sorted, disjoint ranges, for exclusions, pools and utilisation. */
import {
  type Address,
  type Cidr,
  formatAddress,
  lastOf,
  parseAddress,
  parseCidr,
} from './addresses.ts'

/** From `first` to `last`, both included. */
export interface Range {
  readonly family: 4 | 6
  readonly first: bigint
  readonly last: bigint
}

export const rangeOfCidr = (cidr: Cidr): Range => ({
  family: cidr.family,
  first: cidr.base,
  last: lastOf(cidr),
})
export const rangeOfAddress = ({ family, value }: Address): Range => ({
  family,
  first: value,
  last: value,
})

/** A range as a user may write it: an address, a CIDR, or `a-b`. */
export type RangeReading = { ok: true; range: Range } | { ok: false; why: 'syntax' | 'order' }

export function readRange(text: string): RangeReading {
  const cidr = parseCidr(text)
  if (cidr) return { ok: true, range: rangeOfCidr(cidr) }
  const [from, to, more] = text.split('-').map((part) => part.trim())
  const first = parseAddress(from ?? '')
  const last = to === undefined ? first : parseAddress(to)
  if (!first || !last || more !== undefined || first.family !== last.family)
    return { ok: false, why: 'syntax' }
  return last.value < first.value
    ? { ok: false, why: 'order' }
    : { ok: true, range: { family: first.family, first: first.value, last: last.value } }
}

/** Canonical spelling of a range: the single address, or `a-b`. */
export function formatRange({ family, first, last }: Range): string {
  const text = formatAddress({ family, value: first })
  return first === last ? text : `${text}-${formatAddress({ family, value: last })}`
}

/** Sorts ranges of one family and joins those that overlap or touch. */
export function mergeRanges(ranges: readonly Range[]): Range[] {
  const merged: Range[] = []
  for (const range of ranges.toSorted((a, b) =>
    a.first < b.first ? -1 : a.first > b.first ? 1 : 0,
  )) {
    const before = merged.at(-1)
    if (before && range.first <= before.last + 1n)
      merged[merged.length - 1] = {
        ...before,
        last: range.last > before.last ? range.last : before.last,
      }
    else merged.push(range)
  }
  return merged
}

/** `whole` minus `holes`, sorted and disjoint. */
export function withoutRanges(whole: Range, holes: readonly Range[]): Range[] {
  const left: Range[] = []
  let from = whole.first
  for (const hole of mergeRanges(holes)) {
    if (hole.last < from) continue
    if (hole.first > whole.last) break
    if (hole.first > from) left.push({ family: whole.family, first: from, last: hole.first - 1n })
    from = hole.last + 1n
  }
  if (from <= whole.last) left.push({ family: whole.family, first: from, last: whole.last })
  return left
}

export const sizeOfRanges = (ranges: readonly Range[]): bigint =>
  ranges.reduce((sum, { first, last }) => sum + last - first + 1n, 0n)

export const inRange = ({ family, first, last }: Range, address: Address): boolean =>
  address.family === family && address.value >= first && address.value <= last
