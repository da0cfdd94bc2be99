/** Arithmetic of an address map: the cells of a stretch of addresses and their contents. */
import type { AddressState, MapRun } from '#contract/network/address-map.ts'
import { type Address, type Cidr, formatAddress } from '#contract/network/addresses.ts'
import { count as thousands } from '#contract/words.ts'

/** The drawn fields of a run. Runs are in order and cover the whole stretch. */
export type DrawnRun = Pick<MapRun, 'first' | 'last' | 'state'>

/** The addresses of one map: 2^bits from `base`. */
export interface Stretch {
  readonly family: 4 | 6
  readonly base: bigint
  readonly bits: number
}

/**
 * log2 of the largest number of cells (a /22 in IPv4). In longer stretches a cell is a block of
 * addresses. Fewer for IPv6, which is mostly empty.
 */
const cellBits = { 4: 10, 6: 8 } as const

export const wholeOf = (cidr: Cidr): Stretch => ({
  family: cidr.family,
  base: cidr.base,
  bits: (cidr.family === 4 ? 32 : 128) - cidr.prefix,
})
export const lastIn = ({ base, bits }: Stretch): bigint => base + (1n << BigInt(bits)) - 1n
export const holds = (stretch: Stretch, value: bigint): boolean =>
  value >= stretch.base && value <= lastIn(stretch)

/** log2 of the number of addresses per cell. 0: each cell is one address. */
export const blockBits = ({ family, bits }: Stretch): number => Math.max(0, bits - cellBits[family])
export const cellCount = (stretch: Stretch): number => 2 ** (stretch.bits - blockBits(stretch))
/** The stretch of the cell at `index`. */
export const cellAt = (stretch: Stretch, index: number): Stretch => ({
  family: stretch.family,
  base: stretch.base + (BigInt(index) << BigInt(blockBits(stretch))),
  bits: blockBits(stretch),
})
export const indexOf = (stretch: Stretch, value: bigint): number =>
  Number((value - stretch.base) >> BigInt(blockBits(stretch)))

/** Index of the run with an address, by binary search; -1 if none. */
export function runAt(runs: readonly DrawnRun[], value: bigint): number {
  let [low, high] = [0, runs.length - 1]
  while (low <= high) {
    const middle = (low + high) >> 1
    const run = runs[middle]!
    if (value < run.first) high = middle - 1
    else if (value > run.last) low = middle + 1
    else return middle
  }
  return -1
}

export interface Cell {
  /**
   * State of the block: `used` if anything is in use, else `free` if anything is free, else the
   * most frequent state.
   */
  readonly state: AddressState
  /** Share of the block that is in use, 0 to 1; more than 0 if any address is in use. */
  readonly used: number
}

/** Number of addresses per state. */
export type Counts = Readonly<Record<AddressState, bigint>>

/** Counts the addresses of a stretch by state. */
export function countsIn(runs: readonly DrawnRun[], stretch: Stretch): Counts {
  const counts: Record<AddressState, bigint> = {
    used: 0n,
    free: 0n,
    reserved: 0n,
    excluded: 0n,
    gateway: 0n,
  }
  const [from, to] = [stretch.base, lastIn(stretch)]
  for (let i = Math.max(0, runAt(runs, from)); i < runs.length; i++) {
    const run = runs[i]!
    if (run.first > to) break
    if (run.last < from) continue
    counts[run.state] +=
      (run.last < to ? run.last : to) - (run.first > from ? run.first : from) + 1n
  }
  return counts
}

/** `part / whole`, from 0 to 1. Never rounded to exactly 0 or 1. */
export function share(part: bigint, whole: bigint): number {
  if (part <= 0n || whole <= 0n) return 0
  if (part >= whole) return 1
  return Math.min(0.999, Math.max(0.001, Number((part * 1000n) / whole) / 1000))
}

/** The cells of a stretch in order. */
export const cellsOf = (runs: readonly DrawnRun[], stretch: Stretch): Cell[] =>
  Array.from({ length: cellCount(stretch) }, (_, index) => {
    const cell = cellAt(stretch, index)
    const counts = countsIn(runs, cell)
    // A block with free addresses and none in use counts as free, even if the network itself needs
    // a few of the addresses.
    const state =
      (['used', 'free', 'excluded', 'reserved', 'gateway'] as const).find(
        (one) => counts[one] > 0n,
      ) ?? 'free'
    return { state, used: share(counts.used, 1n << BigInt(cell.bits)) }
  })

/**
 * Path from a stretch down to the stretch that contains `value` and whose cells are single
 * addresses. Each stretch is a cell of the previous stretch.
 */
export function wayTo(whole: Stretch, value: bigint): Stretch[] {
  const way = [whole]
  for (let now = whole; blockBits(now) > 0;) {
    now = cellAt(now, indexOf(now, value))
    way.push(now)
  }
  return way
}

/** The first address of the first free run, or null. */
export const firstFree = (runs: readonly DrawnRun[]): bigint | null =>
  runs.find((run) => run.state === 'free')?.first ?? null

const superscript = '⁰¹²³⁴⁵⁶⁷⁸⁹'
const power = (bits: number): string =>
  `2${String(bits).replaceAll(/\d/g, (digit) => superscript[Number(digit)]!)}`

/** "254", "65 536", "2⁶⁴", "about 2⁶⁴": numbers above a billion are shown as powers of two. */
export function amount(n: bigint): string {
  if (n < 1_000_000_000n) return thousands(n)
  const bits = n.toString(2).length - 1
  if (n === 1n << BigInt(bits)) return power(bits)
  // Rounds to the nearest power: 2^64 without the gateway is about 2^64.
  return `about ${power(n > 3n << BigInt(bits - 1) ? bits + 1 : bits)}`
}

export const addressText = (family: Address['family'], value: bigint): string =>
  formatAddress({ family, value })

/** "10.0.0.0/26" for a block, the address itself for a single address. */
export const stretchText = ({ family, base, bits }: Stretch): string =>
  bits === 0
    ? addressText(family, base)
    : `${addressText(family, base)}/${(family === 4 ? 32 : 128) - bits}`

/**
 * The part of an address after the subnet's prefix: ".10", ".3.10" in IPv4; "::2" in IPv6 if the
 * prefix ends between two groups.
 */
function shortText(cidr: Cidr, value: bigint): string {
  const text = addressText(cidr.family, value)
  if (cidr.family === 4) {
    const same = Math.min(3, Math.floor(cidr.prefix / 8))
    return same === 0 ? text : `.${text.split('.').slice(same).join('.')}`
  }
  return cidr.prefix > 0 && cidr.prefix % 16 === 0 ? addressText(6, value - cidr.base) : text
}

/** A range with both addresses shortened: ".10–.62". */
export function rangeText(cidr: Cidr, first: bigint, last: bigint): string {
  const from = shortText(cidr, first)
  return first === last ? from : `${from}–${shortText(cidr, last)}`
}

/**
 * The cell that a key leads to, or null for other keys. Up and down stay in their column; with
 * `ends`, Home and End go to the ends of the map.
 */
export function stepFrom(
  index: number,
  key: string,
  { columns, count, ends }: { columns: number; count: number; ends: boolean },
): number | null {
  const rowStart = index - (index % columns)
  const down = (rows: number) => {
    const most = Math.floor((count - 1 - (index % columns)) / columns)
    return (
      Math.max(0, Math.min(most, Math.floor(index / columns) + rows)) * columns + (index % columns)
    )
  }
  const steps: Readonly<Record<string, number>> = {
    ArrowRight: Math.min(count - 1, index + 1),
    ArrowLeft: Math.max(0, index - 1),
    ArrowDown: down(1),
    ArrowUp: down(-1),
    PageDown: down(8),
    PageUp: down(-8),
    Home: ends ? 0 : rowStart,
    End: ends ? count - 1 : Math.min(count - 1, rowStart + columns - 1),
  }
  return steps[key] ?? null
}
