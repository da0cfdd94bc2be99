import { expect, test } from 'vitest'
import { contactOver, shareText } from './contact.ts'

const minute = 60_000
const over = (values: (number | null)[], cells = 4) =>
  contactOver(values, { from: 0, stepMs: minute }, cells)

test('contacts of an idle server every two minutes give its part of answers and its silences', () => {
  const { answered, cells, silences } = over([1, null, 1, null, 0, 0, null, 1, 0.5, null, 1, null])
  expect(answered).toBeCloseTo(4.5 / 7)
  expect(cells).toEqual([1, 0, 0.75, 1])
  expect(silences).toEqual([
    { from: 8 * minute, to: 10 * minute, isPartial: true },
    { from: 4 * minute, to: 7 * minute, isPartial: false },
  ])
})

test('a time without contacts is no silence, and ends one', () => {
  const gap = Array.from({ length: 10 }, () => null)
  expect(over([0, ...gap, 0, ...gap, 1]).silences).toEqual([
    { from: 11 * minute, to: 12 * minute, isPartial: false },
    { from: 0, to: minute, isPartial: false },
  ])
  expect(over([null, null])).toEqual({ answered: null, cells: [null, null], silences: [] })
})

test('only a server that answered every contact answered 100 %', () => {
  expect(shareText(1)).toBe('100\u00a0%')
  expect(shareText(0.99999)).toBe('99.9\u00a0%')
  expect(shareText(0.98)).toBe('98\u00a0%')
})
