import { expect, test } from 'vitest'
import { ago, duration, until } from './time.ts'

test('durations are shown in two units', () => {
  expect(
    [0, -5000, 18_000, 60_000, 556_000, 7_500_000, 86_400_000, 277_200_000].map(duration),
  ).toEqual(['0 s', '0 s', '18 s', '1 min', '9 min 16 s', '2 h 5 min', '1 d', '3 d 5 h'])
})

test('times in the past are shown in one unit', () => {
  const now = Date.parse('2026-11-20T14:00:00Z')
  const at = (s: number) => ago(new Date(now - s * 1000).toISOString(), now)
  expect([at(1), at(18), at(119), at(3 * 3600 + 5), at(2 * 86_400), at(-30)]).toEqual([
    'just now',
    '18 s ago',
    '1 min ago',
    '3 h ago',
    '2 d ago',
    'just now',
  ])
})

test('times in the future are rounded to the nearest unit', () => {
  const now = Date.parse('2026-11-20T14:00:00Z')
  const [second, minute, hour, day] = [1_000, 60_000, 3_600_000, 86_400_000]
  const left: [number, string][] = [
    [40 * second, 'in a moment'],
    [minute, 'in 1 min'],
    [10 * minute - second, 'in 10 min'],
    [hour - second, 'in 1 h'],
    [3 * hour, 'in 3 h'],
    [24 * hour - second, 'in 24 h'],
    [47 * hour, 'in 47 h'],
    [2 * day - second, 'in 2 d'],
    [7 * day - second, 'in 7 d'],
    [10 * day, 'in 10 d'],
    [-90 * second, '1 min ago'],
  ]
  for (const [ms, said] of left) expect(until(new Date(now + ms).toISOString(), now)).toBe(said)
})
