import { expect, test } from 'vitest'
import * as z from 'zod/mini'
import { MaintenanceWindow, windowText } from './window.ts'
import { closingAt, isOpen, nextOpening } from './window-times.ts'

const weekend = {
  days: ['sat', 'sun'],
  from: '23:00',
  minutes: 180,
  time_zone: 'Europe/Warsaw',
} satisfies MaintenanceWindow

test('a window is open from its local time, and may end on the next day', () => {
  // Saturday, 21 November 2026; Warsaw is one hour ahead of UTC.
  expect(isOpen(weekend, new Date('2026-11-21T21:59:00Z'))).toBe(false)
  expect(isOpen(weekend, new Date('2026-11-21T22:00:00Z'))).toBe(true)
  expect(isOpen(weekend, new Date('2026-11-22T00:59:00Z'))).toBe(true)
  expect(isOpen(weekend, new Date('2026-11-22T01:00:00Z'))).toBe(false)
  // Sunday's window ends on Monday.
  expect(isOpen(weekend, new Date('2026-11-23T00:30:00Z'))).toBe(true)
})

test('the next opening is the nearest of all days, and now while the window is open', () => {
  expect(nextOpening(weekend, new Date('2026-11-23T12:34:56Z')).toISOString()).toBe(
    '2026-11-28T22:00:00.000Z',
  )
  expect(nextOpening(weekend, new Date('2026-11-21T21:59:30Z')).toISOString()).toBe(
    '2026-11-21T22:00:00.000Z',
  )
  expect(nextOpening(weekend, new Date('2026-11-21T22:30:00Z')).toISOString()).toBe(
    '2026-11-21T22:30:00.000Z',
  )
})

// Warsaw: 02:00 becomes 03:00 on 29 March 2026, and 03:00 becomes 02:00 on 25 October 2026.
test.each([
  ['a skipped time opens an hour later by the clock', '02:30', 30, '2026-03-29T01:30', '02:00'],
  ['of a time that comes twice, the first opens', '02:30', 30, '2026-10-25T00:30', '01:00'],
  ['a window lasts as long over a skipped hour', '01:30', 60, '2026-03-29T00:30', '01:30'],
  ['a window lasts as long over a repeated hour', '01:30', 120, '2026-10-24T23:30', '01:30'],
  ['after the change the new offset counts', '04:00', 60, '2026-03-29T02:00', '03:00'],
  ['before the change the old offset counts', '00:15', 30, '2026-10-24T22:15', '22:45'],
])('when clocks change, %s', (_, from, minutes, opens, closes) => {
  const window = { ...weekend, days: ['sun' as const], from, minutes }
  const at = (time: string, more = 0) => new Date(Date.parse(`${time}:00Z`) + more)
  expect(nextOpening(window, at(opens, -3_600_000 * 20))).toEqual(at(opens))
  expect(isOpen(window, at(opens, -1))).toBe(false)
  expect(isOpen(window, at(opens))).toBe(true)
  const end = at(opens, minutes * 60_000)
  expect(end.toISOString().slice(11, 16)).toBe(closes)
  expect(isOpen(window, new Date(end.getTime() - 1))).toBe(true)
  expect(closingAt(window, at(opens))).toEqual(end)
  expect(closingAt(window, end)).toBeNull()
  expect(isOpen(window, end)).toBe(false)
  // The next one is a week later, not an hour.
  expect(nextOpening(window, end).getTime() - end.getTime()).toBeGreaterThan(6 * 86_400_000)
})

test('a window of a whole day that began before clocks went forward is open on the second day', () => {
  const window = { ...weekend, days: ['sat' as const], from: '23:45', minutes: 1440 }
  const at = new Date('2026-03-29T22:30:00Z')
  expect(isOpen(window, at)).toBe(true)
  expect(nextOpening(window, at)).toEqual(at)
  expect(isOpen(window, new Date('2026-03-29T22:45:00Z'))).toBe(false)
})

test('the text lists the days in the order of the week', () => {
  expect(windowText({ ...weekend, days: ['sun', 'sat'] })).toBe(
    'Sat, Sun 23:00 for 3 h, Europe/Warsaw',
  )
})

test.each([
  [{ from: '24:00' }, 'Enter a time such as 02:30'],
  [{ time_zone: 'Mars/Olympus' }, 'Enter a time zone such as Europe/Warsaw or UTC'],
  [{ days: [] }, 'Choose at least one day'],
  [{ minutes: 5 }, 'A window is open for at least 15 minutes'],
])('the window %j is refused', (wrong, message) => {
  expect(z.safeParse(MaintenanceWindow, { ...weekend, ...wrong }).error?.issues[0]?.message).toBe(
    message,
  )
})
