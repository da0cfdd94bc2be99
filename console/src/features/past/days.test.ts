import { afterEach, beforeEach, expect, test } from 'vitest'
import { dayOf, dayText, minuteOf, minutesIn, onDay, timeAt } from './days.ts'

const own = process.env['TZ']
beforeEach(() => (process.env['TZ'] = 'Europe/Warsaw'))
afterEach(() => {
  if (own === undefined) delete process.env['TZ']
  else process.env['TZ'] = own
})
const ms = (text: string) => Date.parse(text)
const now = ms('2026-11-27T09:14:00Z')

test('a time of the last 24 hours is shown in these, an older one in its day', () => {
  expect(dayOf(ms('2026-11-27T02:00:00Z'), now)).toEqual({
    from: ms('2026-11-26T09:14:00Z'),
    to: now,
    endsNow: true,
  })
  expect(dayOf(ms('2026-11-20T23:30:00Z'), now)).toEqual({
    from: ms('2026-11-20T23:00:00Z'),
    to: ms('2026-11-21T23:00:00Z'),
    endsNow: false,
  })
})

test('a day on which the clocks change has 23 or 25 hours', () => {
  const spring = dayOf(ms('2026-03-29T10:00:00Z'), now)
  expect(minutesIn(spring)).toBe(23 * 60)
  expect(minutesIn(dayOf(ms('2026-10-25T10:00:00Z'), now))).toBe(25 * 60)
  expect(minuteOf(spring, timeAt(spring, 150))).toBe(150)
  expect(timeAt(spring, 10_000)).toBe(spring.to)
})

test('another day keeps the time, moves a skipped one on, and never lies in the future', () => {
  const at = ms('2026-11-20T01:30:00Z')
  expect(onDay(at, '2026-11-21', now)).toBe(ms('2026-11-21T01:30:00Z'))
  // 02:30 is skipped there.
  expect(onDay(at, '2026-03-29', now)).toBe(ms('2026-03-29T01:30:00Z'))
  expect(onDay(at, '2026-12-24', now)).toBe(now)
  expect(onDay(at, '', now)).toBeNull()
  expect(dayText(at)).toBe('2026-11-20')
})
