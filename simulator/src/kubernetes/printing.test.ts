import { expect, test } from 'vitest'
import { ageOf, humanDuration } from './printing.ts'

test.each([
  [0, '0s'],
  [119, '119s'],
  [120, '2m'],
  [125, '2m5s'],
  [660, '11m'],
  [3 * 3600, '3h'],
  [5 * 3600 + 61, '5h1m'],
  [30 * 3600, '30h'],
  [50 * 3600, '2d2h'],
  [30 * 86_400, '30d'],
  [800 * 86_400, '2y70d'],
  [9 * 365 * 86_400, '9y'],
])('%d seconds are shown as %s', (seconds, shown) => {
  expect(humanDuration(seconds * 1000)).toBe(shown)
})

test('a missing or future time is shown as <unknown> or <invalid>', () => {
  expect(ageOf(undefined, 0)).toBe('<unknown>')
  expect(ageOf('1970-01-01T00:01:00Z', 0)).toBe('<invalid>')
})
