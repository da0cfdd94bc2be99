import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { visibleRows } from './virtual.ts'

const view = { count: 10_000, rowHeight: 36, extra: new Map<number, number>(), top: 0, bottom: 720, overscan: 2 }

test('only visible rows render, and the others keep their space', () => {
  expect(visibleRows(view)).toEqual({ from: 0, to: 23, before: 0, after: (10_000 - 23) * 36 })
  expect(visibleRows({ ...view, top: 36_000, bottom: 36_720 })).toMatchObject({ from: 998, to: 1023, before: 998 * 36 })
  expect(visibleRows({ ...view, top: 1e9, bottom: 1e9 })).toMatchObject({ from: 9998, to: 10_000, after: 0 })
})

test('rendered rows change in groups, so scrolling by one row usually changes nothing', () => {
  const drawn = new Set(Array.from({ length: 64 }, (_, row) => visibleRows({ ...view, top: 36_000 + row * 36, bottom: 36_720 + row * 36, step: 8 }).from))
  expect(drawn.size).toBeLessThanOrEqual(9)
})

test('an expanded row counts with the height of its detail', () => {
  const opened = visibleRows({ ...view, extra: new Map([[1, 600]]), top: 300, bottom: 400 })
  expect(opened).toMatchObject({ from: 0, to: 4 })
})

test('rendered rows and the space around them add up to the total height, and all visible rows are rendered', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 500 }),
      fc.array(fc.tuple(fc.nat(499), fc.integer({ min: 1, max: 800 })), { maxLength: 6 }),
      fc.integer({ min: -200, max: 40_000 }),
      fc.constantFrom(1, 8),
      (count, open, top, step) => {
        const extra = new Map(open.filter(([row]) => row < count))
        const at = visibleRows({ count, rowHeight: 36, extra, top, bottom: top + 700, step })
        const height = (from: number, to: number) => (to - from) * 36 + [...extra].reduce((sum, [row, h]) => (row >= from && row < to ? sum + h : sum), 0)
        expect(at.before + height(at.from, at.to) + at.after).toBe(height(0, count))
        const whole = height(0, count)
        expect(at.before <= Math.max(0, Math.min(top, whole))).toBe(true)
        expect(whole - at.after >= Math.min(whole, Math.max(0, top + 700))).toBe(true)
      },
    ),
  )
})
