import { expect, test } from 'vitest'
import { lastTime, nextTime, tooMany } from './schedule.ts'

const at = (text: string) => Date.parse(`${text}Z`)
const daily = { every_hours: 24, at_hour: 2 }

test.each([
  [daily, '2026-11-22T01:59:59', '2026-11-21T02:00:00', '2026-11-22T02:00:00'],
  [daily, '2026-11-22T02:00:00', '2026-11-22T02:00:00', '2026-11-23T02:00:00'],
  [
    { every_hours: 6, at_hour: 2 },
    '2026-11-22T15:30:00',
    '2026-11-22T14:00:00',
    '2026-11-22T20:00:00',
  ],
  [
    { every_hours: 1, at_hour: 23 },
    '2026-11-22T15:30:00',
    '2026-11-22T15:00:00',
    '2026-11-22T16:00:00',
  ],
])(
  'the schedule %j at %s has its previous time at %s and its next time at %s',
  (series, now, last, next) => {
    expect([new Date(lastTime(series, at(now))), new Date(nextTime(series, at(now)))]).toEqual([
      new Date(at(last)),
      new Date(at(next)),
    ])
  },
)

test('a weekly schedule has one time per week', () => {
  const weekly = { every_hours: 168, at_hour: 5 }
  const first = nextTime(weekly, at('2026-11-22T00:00:00'))
  expect(nextTime(weekly, first) - first).toBe(7 * 24 * 3_600_000)
  expect(new Date(first).getUTCHours()).toBe(5)
})

const kept = (days: readonly number[]) =>
  days.map((day) => ({
    id: `d${day}`,
    takenAt: new Date(at(`2026-11-${String(day).padStart(2, '0')}T02:00:00`)),
  }))
const now = at('2026-11-22T03:00:00')

test('snapshots beyond the count or the age are not kept, but the newest always is', () => {
  expect(tooMany(kept([20, 22, 21, 19]), { keepCount: 2, keepDays: null }, now)).toEqual([
    'd20',
    'd19',
  ])
  expect(tooMany(kept([22, 15, 1]), { keepCount: null, keepDays: 7 }, now)).toEqual(['d15', 'd1'])
  expect(tooMany(kept([2, 1]), { keepCount: 5, keepDays: 7 }, now)).toEqual(['d1'])
  expect(tooMany(kept([22, 21]), { keepCount: null, keepDays: null }, now)).toEqual([])
})
