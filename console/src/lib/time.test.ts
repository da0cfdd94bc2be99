import { expect, test } from 'vitest'
import { ago, duration, until } from './time.ts'

test('durations in the two units that matter', () => {
  expect([0, -5000, 18_000, 60_000, 556_000, 7_500_000, 86_400_000, 277_200_000].map(duration)).toEqual([
    '0 s',
    '0 s',
    '18 s',
    '1 min',
    '9 min 16 s',
    '2 h 5 min',
    '1 d',
    '3 d 5 h',
  ])
})

test('how long ago in one unit', () => {
  const now = Date.parse('2026-11-20T14:00:00Z')
  const at = (s: number) => ago(new Date(now - s * 1000).toISOString(), now)
  expect([at(1), at(18), at(119), at(3 * 3600 + 5), at(2 * 86_400), at(-30)]).toEqual(['just now', '18 s ago', '1 min ago', '3 h ago', '2 d ago', 'just now'])
})

test('how long until', () => {
  const now = Date.parse('2026-11-20T14:00:00Z')
  expect([90_000, 40_000, 3 * 3_600_000, 47 * 3_600_000, 10 * 86_400_000, -90_000].map((ms) => until(new Date(now + ms).toISOString(), now))).toEqual([
    'in 1 min',
    'in a moment',
    'in 3 h',
    'in 47 h',
    'in 10 d',
    '1 min ago',
  ])
})
