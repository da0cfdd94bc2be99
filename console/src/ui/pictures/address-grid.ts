/** The arithmetic of an address map: which cells a stretch of addresses is drawn as, and what each of them holds. No drawing, no domain. */
import type { AddressState, MapRun } from '#contract/network/address-map.ts'
import { type Address, type Cidr, formatAddress } from '#contract/network/addresses.ts'
import { count as thousands } from '#contract/words.ts'

/** As much of a map's run as is drawn. Runs are in order, and together they are the whole stretch. */
export type DrawnRun = Pick<MapRun, 'first' | 'last' | 'state'>

/** What one map shows: 2^bits addresses from `base`. */
export interface Stretch {
  readonly family: 4 | 6
  readonly base: bigint
  readonly bits: number
}

/** Up to so many addresses (a /22) are drawn one by one, as a power of two; longer stretches in that many blocks. Of IPv6 fewer: nearly all of it is empty. */
const cellBits = { 4: 10, 6: 8 } as const

export const wholeOf = (cidr: Cidr): Stretch => ({ family: cidr.family, base: cidr.base, bits: (cidr.family === 4 ? 32 : 128) - cidr.prefix })
export const lastIn = ({ base, bits }: Stretch): bigint => base + (1n << BigInt(bits)) - 1n
export const holds = (stretch: Stretch, value: bigint): boolean => value >= stretch.base && value <= lastIn(stretch)

/** How many addresses a cell stands for, as a power of two: 0 where each has its own. */
export const blockBits = ({ family, bits }: Stretch): number => Math.max(0, bits - cellBits[family])
export const cellCount = (stretch: Stretch): number => 2 ** (stretch.bits - blockBits(stretch))
/** The addresses of the cell at `index`, as a stretch of its own. */
export const cellAt = (stretch: Stretch, index: number): Stretch => ({
  family: stretch.family,
  base: stretch.base + (BigInt(index) << BigInt(blockBits(stretch))),
  bits: blockBits(stretch),
})
export const indexOf = (stretch: Stretch, value: bigint): number => Number((value - stretch.base) >> BigInt(blockBits(stretch)))

/** Position of the run that holds an address, by halving. -1: none does. */
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
  /** The state that stands for the block: what most of it is that can't be handed out, or free; `used` where anything is in use. */
  readonly state: AddressState
  /** Share of the block that is in use, 0 to 1; more than 0 where anything is. */
  readonly used: number
}

/** Number of addresses per state. */
export type Counts = Readonly<Record<AddressState, bigint>>
const none = (): Record<AddressState, bigint> => ({ used: 0n, free: 0n, reserved: 0n, excluded: 0n, gateway: 0n })

/** What a stretch holds, by state. */
export function countsIn(runs: readonly DrawnRun[], stretch: Stretch): Counts {
  const counts = none()
  const [from, to] = [stretch.base, lastIn(stretch)]
  for (let i = Math.max(0, runAt(runs, from)); i < runs.length; i++) {
    const run = runs[i]!
    if (run.first > to) break
    if (run.last < from) continue
    counts[run.state] += (run.last < to ? run.last : to) - (run.first > from ? run.first : from) + 1n
  }
  return counts
}

/** Parts of a whole as a number from 0 to 1 that is 0 or 1 only where it is so exactly. */
export function share(part: bigint, whole: bigint): number {
  if (part <= 0n || whole <= 0n) return 0
  if (part >= whole) return 1
  return Math.min(0.999, Math.max(0.001, Number((part * 1000n) / whole) / 1000))
}

/** The cells of a stretch in order: one pass over the runs that lie in it. */
export function cellsOf(runs: readonly DrawnRun[], stretch: Stretch): Cell[] {
  const cells: Cell[] = []
  const size = 1n << BigInt(blockBits(stretch))
  const single = size === 1n
  let at = Math.max(0, runAt(runs, stretch.base))
  let from = stretch.base
  for (let index = 0; index < cellCount(stretch); index++, from += size) {
    while (at < runs.length && runs[at]!.last < from) at++
    if (single) {
      const run = runs[at]
      const state = run !== undefined && run.first <= from ? run.state : 'free'
      cells.push({ state, used: state === 'used' ? 1 : 0 })
    } else cells.push(blockOf(runs, at, from, from + size - 1n))
  }
  return cells
}

function blockOf(runs: readonly DrawnRun[], at: number, from: bigint, to: bigint): Cell {
  const counts = none()
  for (let i = at; i < runs.length && runs[i]!.first <= to; i++) {
    const run = runs[i]!
    counts[run.state] += (run.last < to ? run.last : to) - (run.first > from ? run.first : from) + 1n
  }
  if (counts.used > 0n) return { state: 'used', used: share(counts.used, to - from + 1n) }
  // A block with anything to hand out is free: the few addresses of the network itself do not make it another.
  if (counts.free > 0n) return { state: 'free', used: 0 }
  return { state: counts.excluded > 0n ? 'excluded' : counts.reserved > 0n ? 'reserved' : 'gateway', used: 0 }
}

/** Way down from a stretch to the one whose cells are single addresses and which holds `value`: each is a cell of the one before. */
export function wayTo(whole: Stretch, value: bigint): Stretch[] {
  const way = [whole]
  for (let now = whole; blockBits(now) > 0;) {
    now = cellAt(now, indexOf(now, value))
    way.push(now)
  }
  return way
}

/** The first address of the first free run, or null. */
export const firstFree = (runs: readonly DrawnRun[]): bigint | null => runs.find((run) => run.state === 'free')?.first ?? null

const superscript = '⁰¹²³⁴⁵⁶⁷⁸⁹'
const power = (bits: number): string => `2${String(bits).replaceAll(/\d/g, (digit) => superscript[Number(digit)]!)}`

/** "254", "65 536", "2⁶⁴", "about 2⁶⁴": numbers past a billion say nothing digit by digit. */
export function amount(n: bigint): string {
  if (n < 1_000_000_000n) return thousands(n)
  const bits = n.toString(2).length - 1
  if (n === 1n << BigInt(bits)) return power(bits)
  // Nearer to the next power where it is all but that: 2^64 without the gateway is about 2^64.
  return `about ${power(n > 3n << BigInt(bits - 1) ? bits + 1 : bits)}`
}

export const addressText = (family: Address['family'], value: bigint): string => formatAddress({ family, value })

/** "10.0.0.0/26" for a block, the address alone for one. */
export const stretchText = ({ family, base, bits }: Stretch): string =>
  bits === 0 ? addressText(family, base) : `${addressText(family, base)}/${(family === 4 ? 32 : 128) - bits}`

/** What of an address tells it from the others of its subnet: ".10", ".3.10" of IPv4; "::2" of IPv6, where the prefix ends between two groups. */
function shortText(cidr: Cidr, value: bigint): string {
  const text = addressText(cidr.family, value)
  if (cidr.family === 4) {
    const same = Math.min(3, Math.floor(cidr.prefix / 8))
    return same === 0 ? text : `.${text.split('.').slice(same).join('.')}`
  }
  return cidr.prefix > 0 && cidr.prefix % 16 === 0 ? addressText(6, value - cidr.base) : text
}

/** ".10–.62", short on both sides. */
export function rangeText(cidr: Cidr, first: bigint, last: bigint): string {
  const from = shortText(cidr, first)
  return first === last ? from : `${from}–${shortText(cidr, last)}`
}

/** Where a key leads from a cell, or null for a key that is none of the map's. Up and down stay in their column; with `ends`, Home and End mean the whole map. */
export function stepFrom(index: number, key: string, { columns, count, ends }: { columns: number; count: number; ends: boolean }): number | null {
  const rowStart = index - (index % columns)
  const down = (rows: number) => {
    const most = Math.floor((count - 1 - (index % columns)) / columns)
    return Math.max(0, Math.min(most, Math.floor(index / columns) + rows)) * columns + (index % columns)
  }
  switch (key) {
    case 'ArrowRight':
      return Math.min(count - 1, index + 1)
    case 'ArrowLeft':
      return Math.max(0, index - 1)
    case 'ArrowDown':
      return down(1)
    case 'ArrowUp':
      return down(-1)
    case 'PageDown':
      return down(8)
    case 'PageUp':
      return down(-8)
    case 'Home':
      return ends ? 0 : rowStart
    case 'End':
      return ends ? count - 1 : Math.min(count - 1, rowStart + columns - 1)
    default:
      return null
  }
}
