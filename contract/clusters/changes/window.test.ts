import { expect, test } from 'vitest'
import * as z from 'zod/mini'
import { isOpen, MaintenanceWindow, nextOpening, windowText } from './window.ts'

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
