import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { covers, nextRange, overscan, shrunk, visibleRows, windowOf } from './virtual.ts'

const view = { count: 10_000, rowHeight: 36, extra: new Map<number, number>(), top: 0, bottom: 720 }
const at = (top: number) => visibleRows({ ...view, top, bottom: top + 720 })
const nothing = { from: 0, to: 0 }

test('at once only the visible rows come, and the others keep their space', () => {
  expect(windowOf(nextRange(nothing, at(0), 10_000, overscan), view)).toEqual({ from: 0, to: 21, before: 0, after: (10_000 - 21) * 36 })
  expect(windowOf(nextRange(nothing, at(36_000), 10_000, overscan), view)).toMatchObject({ from: 1000, to: 1021, before: 1000 * 36 })
  expect(visibleRows({ ...view, top: 1e9, bottom: 1e9 })).toEqual({ from: 10_000, to: 10_000 })
})

test('a frame adds at most the given number of rows, visible ones first, and the frames after it add the rows around', () => {
  for (const [start, end] of [
    [0, 3600],
    [36_000, 32_400],
    [36_000, 36_360],
    [0, 300_000],
  ] as const) {
    const seen = at(end)
    const wanted = { from: Math.max(0, seen.from - overscan), to: seen.to + overscan }
    let now = nextRange(nothing, at(start), 10_000, overscan)
    let framesToSeen = 0
    for (let frames = 0; !covers(now, wanted); frames++) {
      const next = nextRange(now, seen, 10_000, overscan, 4)
      const added = Array.from({ length: next.to - next.from }, (_, i) => next.from + i).filter((row) => row < now.from || row >= now.to)
      expect(added.length).toBeLessThanOrEqual(4)
      expect(frames).toBeLessThan(20)
      now = next
      if (!covers(now, seen)) framesToSeen++
    }
    expect(framesToSeen).toBeLessThan(6)
  }
})

test('rows that are there stay while the list scrolls, until they are far away', () => {
  const rested = { from: 1000 - overscan, to: 1021 + overscan }
  expect(nextRange(rested, at(36_000), 10_000, overscan, 4)).toEqual(rested)
  expect(nextRange(rested, at(36_036), 10_000, overscan, 4)).toEqual({ from: rested.from, to: rested.to + 1 })
  expect(nextRange(rested, at(36 * 1060), 10_000, overscan, 0)).toEqual({ from: 1060 - 3 * overscan, to: rested.to })
})

test('an expanded row counts with the height of its detail', () => {
  expect(visibleRows({ ...view, extra: new Map([[1, 600]]), top: 300, bottom: 400 })).toEqual({ from: 1, to: 2 })
})

test('rendered rows and the space around them add up to the total height, and all visible rows are rendered', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 500 }),
      fc.array(fc.tuple(fc.nat(499), fc.integer({ min: 1, max: 800 })), { maxLength: 6 }),
      fc.integer({ min: -200, max: 40_000 }),
      fc.tuple(fc.nat(500), fc.nat(60)),
      (count, open, top, [first, length]) => {
        const extra = new Map(open.filter(([row]) => row < count))
        const from = Math.min(first, count)
        const shown = { count, rowHeight: 36, extra, top, bottom: top + 700 }
        const next = windowOf(nextRange({ from, to: Math.min(count, from + length) }, visibleRows(shown), count, overscan), shown)
        const height = (a: number, b: number) => (b - a) * 36 + [...extra].reduce((sum, [row, h]) => (row >= a && row < b ? sum + h : sum), 0)
        expect(next.before + height(next.from, next.to) + next.after).toBe(height(0, count))
        const whole = height(0, count)
        expect(next.before <= Math.max(0, Math.min(top, whole))).toBe(true)
        expect(whole - next.after >= Math.min(whole, Math.max(0, top + 700))).toBe(true)
      },
    ),
  )
})

test('a range shrinks by at most the given number of rows at each end, and begins anew elsewhere', () => {
  const now = { from: 0, to: 1000 }
  expect(shrunk(now, { from: 250, to: 950 }, 100)).toEqual({ from: 100, to: 950 })
  expect(shrunk(now, { from: 0, to: 1010 }, 100)).toEqual({ from: 0, to: 1010 })
  expect(shrunk(now, { from: 2000, to: 2020 }, 100)).toEqual({ from: 2000, to: 2020 })
  expect(shrunk(now, { ...now }, 100)).toBe(now)
})
