import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { towards, visibleRows } from './virtual.ts'

const view = { count: 10_000, rowHeight: 36, extra: new Map<number, number>(), top: 0, bottom: 720 }

test('only visible rows render, and the others keep their space', () => {
  expect(visibleRows(view)).toEqual({ from: 0, to: 27, before: 0, after: (10_000 - 27) * 36 })
  expect(visibleRows({ ...view, top: 36_000, bottom: 36_720 })).toMatchObject({ from: 994, to: 1027, before: 994 * 36 })
  expect(visibleRows({ ...view, top: 1e9, bottom: 1e9 })).toMatchObject({ from: 9994, to: 10_000, after: 0 })
})

test('each frame adds at most the given number of rows at each end, until the wanted rows are rendered', () => {
  const at = (top: number) => ({ ...view, top, bottom: top + 720 })
  for (const [start, end] of [
    [0, 3600],
    [36_000, 32_400],
    [36_000, 36_360],
    [0, 300_000],
  ] as const) {
    const wanted = visibleRows(at(end))
    let now = visibleRows(at(start))
    for (let frames = 0; now.from !== wanted.from || now.to !== wanted.to; frames++) {
      const next = towards(now, wanted, 4, at(end))
      const added = Array.from({ length: next.to - next.from }, (_, i) => next.from + i).filter((row) => row < now.from || row >= now.to)
      expect(added.length).toBeLessThanOrEqual(8)
      expect(frames).toBeLessThan(12)
      now = next
    }
    expect(now).toEqual(wanted)
  }
})

test('an expanded row counts with the height of its detail', () => {
  const opened = visibleRows({ ...view, extra: new Map([[1, 600]]), top: 300, bottom: 400 })
  expect(opened).toMatchObject({ from: 0, to: 8 })
})

test('rendered rows and the space around them add up to the total height, and all visible rows are rendered', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 500 }),
      fc.array(fc.tuple(fc.nat(499), fc.integer({ min: 1, max: 800 })), { maxLength: 6 }),
      fc.integer({ min: -200, max: 40_000 }),
      (count, open, top) => {
        const extra = new Map(open.filter(([row]) => row < count))
        const at = visibleRows({ count, rowHeight: 36, extra, top, bottom: top + 700 })
        const height = (from: number, to: number) => (to - from) * 36 + [...extra].reduce((sum, [row, h]) => (row >= from && row < to ? sum + h : sum), 0)
        expect(at.before + height(at.from, at.to) + at.after).toBe(height(0, count))
        const whole = height(0, count)
        expect(at.before <= Math.max(0, Math.min(top, whole))).toBe(true)
        expect(whole - at.after >= Math.min(whole, Math.max(0, top + 700))).toBe(true)
      },
    ),
  )
})
