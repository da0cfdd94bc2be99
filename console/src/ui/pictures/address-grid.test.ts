import { addressStates } from '#contract/network/address-map.ts'
import { expect, test } from 'vitest'
import { type Cidr, parseAddress, parseCidr } from '#contract/network/addresses.ts'
import {
  amount,
  blockBits,
  cellAt,
  cellCount,
  cellsOf,
  countsIn,
  indexOf,
  lastIn,
  type DrawnRun,
  rangeText,
  runAt,
  share,
  stepFrom,
  stretchText,
  wayTo,
  wholeOf,
} from './address-grid.ts'

const cidr = (text: string): Cidr => parseCidr(text)!
const value = (text: string): bigint => parseAddress(text)!.value

/** Random runs that together cover a CIDR. */
function randomRuns(of: Cidr, most: number, random: () => number): DrawnRun[] {
  const whole = wholeOf(of)
  const runs: DrawnRun[] = []
  for (let first = whole.base; first <= lastIn(whole);) {
    const last = first + BigInt(Math.floor(random() * most))
    runs.push({
      first,
      last: last > lastIn(whole) ? lastIn(whole) : last,
      state: addressStates[Math.floor(random() * addressStates.length)]!,
    })
    first = runs.at(-1)!.last + 1n
  }
  return runs
}

/** mulberry32: the same numbers for the same seed. */
const seeded = (seed: number) => () => {
  seed = (seed + 0x6d2b79f5) | 0
  let t = Math.imul(seed ^ (seed >>> 15), 1 | seed)
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
  return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
}

test('the map has one cell per address up to a /22, and blocks of addresses for larger networks', () => {
  expect([
    cellCount(wholeOf(cidr('10.0.0.0/22'))),
    blockBits(wholeOf(cidr('10.0.0.0/22'))),
  ]).toEqual([1024, 0])
  expect([
    cellCount(wholeOf(cidr('10.0.0.0/16'))),
    blockBits(wholeOf(cidr('10.0.0.0/16'))),
  ]).toEqual([1024, 6])
  expect([
    cellCount(wholeOf(cidr('10.0.0.4/32'))),
    cellCount(wholeOf(cidr('2001:db8::/64'))),
  ]).toEqual([1, 256])
})

test.each(['192.168.7.0/24', '10.0.0.0/22', '10.0.0.0/20', '10.9.0.0/16', '172.16.3.4/30'])(
  'the numbers in the cells of %s agree with an address-by-address count',
  (text) => {
    const whole = wholeOf(cidr(text))
    for (let seed = 1; seed <= 20; seed++) {
      const runs = randomRuns(cidr(text), 200, seeded(seed))
      const cells = cellsOf(runs, whole)
      expect(cells).toHaveLength(cellCount(whole))
      const counts = { used: 0n, free: 0n, reserved: 0n, excluded: 0n, gateway: 0n }
      const usedOf = cells.map(() => 0)
      for (let v = whole.base; v <= lastIn(whole); v++) {
        const { state } = runs[runAt(runs, v)]!
        counts[state]++
        if (state === 'used') usedOf[indexOf(whole, v)]!++
      }
      expect(countsIn(runs, whole)).toEqual(counts)
      const size = 2 ** blockBits(whole)
      const alone: [string, string][] = []
      cells.forEach((cell, i) => {
        expect(cell.state === 'used', `cell ${i}`).toBe(usedOf[i]! > 0)
        expect(Math.abs(cell.used - usedOf[i]! / size)).toBeLessThan(0.002)
        if (size === 1) alone.push([cell.state, runs[runAt(runs, whole.base + BigInt(i))]!.state])
      })
      expect(alone.filter(([shown, is]) => shown !== is)).toEqual([])
    }
  },
)

test('every address can be reached through nested cells', () => {
  for (const [net, address] of [
    ['10.0.0.0/8', '10.200.3.77'],
    ['2001:db8:20:14::/64', '2001:db8:20:14:1:2:3:4'],
    ['203.0.113.0/24', '203.0.113.255'],
  ] as const) {
    const way = wayTo(wholeOf(cidr(net)), value(address))
    expect(blockBits(way.at(-1)!)).toBe(0)
    way
      .slice(1)
      .forEach((stretch, i) =>
        expect(stretch).toEqual(cellAt(way[i]!, indexOf(way[i]!, value(address)))),
      )
    expect(way.at(-1)!.base + BigInt(indexOf(way.at(-1)!, value(address)))).toBe(value(address))
  }
})

test('the share of used addresses is rounded to 0 only if none is used, and to 1 only if all are used', () => {
  expect([
    share(0n, 2n ** 64n),
    share(1n, 2n ** 64n),
    share(2n ** 64n - 1n, 2n ** 64n),
    share(2n ** 64n, 2n ** 64n),
  ]).toEqual([0, 0.001, 0.999, 1])
})

test('arrow keys move within a row or column, Home and End to the ends of the row, and with Ctrl to the ends of the map', () => {
  const at = { columns: 16, count: 64, ends: false }
  expect(
    ['ArrowLeft', 'ArrowRight', 'ArrowUp', 'ArrowDown', 'Home', 'End', 'PageDown', 'PageUp'].map(
      (key) => stepFrom(20, key, at),
    ),
  ).toEqual([19, 21, 4, 36, 16, 31, 52, 4])
  expect([
    stepFrom(0, 'ArrowLeft', at),
    stepFrom(63, 'ArrowRight', at),
    stepFrom(60, 'ArrowDown', at),
    stepFrom(3, 'ArrowUp', at),
  ]).toEqual([0, 63, 60, 3])
  expect([
    stepFrom(20, 'Home', { ...at, ends: true }),
    stepFrom(20, 'End', { ...at, ends: true }),
    stepFrom(20, 'Tab', at),
  ]).toEqual([0, 63, null])
})

test('large numbers are shown with separators or as powers of two', () => {
  expect([
    amount(254n),
    amount(65_536n),
    amount(2n ** 64n),
    amount(2n ** 64n - 2n),
    amount(2n ** 32n - 2n),
  ]).toEqual(['254', '65\u202f536', '2⁶⁴', 'about 2⁶⁴', 'about 2³²'])
})

test('a range is labelled by the part of its addresses after the prefix', () => {
  expect(rangeText(cidr('203.0.113.0/24'), value('203.0.113.10'), value('203.0.113.62'))).toBe(
    '.10–.62',
  )
  expect(rangeText(cidr('10.20.12.0/22'), value('10.20.13.0'), value('10.20.13.0'))).toBe('.13.0')
  expect(
    rangeText(
      cidr('2001:db8:20:14::/64'),
      value('2001:db8:20:14::2'),
      value('2001:db8:20:14:ffff:ffff:ffff:ffff'),
    ),
  ).toBe('::2–::ffff:ffff:ffff:ffff')
  expect(rangeText(cidr('2001:db8::/61'), value('2001:db8::2'), value('2001:db8::2'))).toBe(
    '2001:db8::2',
  )
  expect(stretchText(cellAt(wholeOf(cidr('10.0.0.0/16')), 3))).toBe('10.0.0.192/26')
})
