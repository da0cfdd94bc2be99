import { expect, test } from 'vitest'
import { strongPx, widest } from './text-width.ts'
import { tracksOf } from './tracks.ts'

test('what is left of a table goes to its ranges in the order of the columns', () => {
  const { tracks, minWidth } = tracksOf(
    [{ least: 100, most: 150 }, { least: 300 }, { least: 70, most: 200 }, 90],
    40,
    80,
  )
  expect(minWidth).toBe(40 + 100 + 300 + 70 + 90 + 80)
  expect(tracks).toBe(
    '40px clamp(100px, 100cqw - 580px, 150px) minmax(300px, 1fr) clamp(70px, 100cqw - 660px, 200px) 90px 80px',
  )
})

test('a table without an elastic column shares its width in the proportion of the columns', () => {
  expect(tracksOf([100, 50], 0, 0).tracks).toBe('minmax(0, 100fr) minmax(0, 50fr)')
})

test('a column gets the width of its widest text, within its limits', () => {
  const limits = { least: 60, most: 200, more: 16 }
  expect(widest([], limits)).toBe(60)
  expect(widest(['mmmmmmmmmm'.repeat(4)], limits)).toBe(200)
  // Measured in Chromium with Inter of 13 px: 91 and 115 px.
  expect(widest(['Active', 'Not committed'], limits)).toBeGreaterThanOrEqual(91 + 16)
  expect(widest(['Waiting delegation'], limits)).toBeGreaterThanOrEqual(115 + 16)
  expect(widest(['Waiting delegation'], limits)).toBeLessThan(115 + 16 + 10)
  // The same in the weight of names: 130 and 129 px.
  const names = { ...limits, more: 16 + strongPx }
  expect(widest(['modest-pelican-446'], names)).toBeGreaterThanOrEqual(130 + 16)
  expect(widest(['crimson-granite-274'], names)).toBeGreaterThanOrEqual(129 + 16)
})
