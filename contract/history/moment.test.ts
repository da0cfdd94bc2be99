import { afterEach, expect, test } from 'vitest'
import { momentOf } from './moment.ts'

const own = process.env['TZ']
afterEach(() => {
  if (own === undefined) delete process.env['TZ']
  else process.env['TZ'] = own
})

test.each([
  ['2026-11-27T02:00Z', '2026-11-27T02:00:00.000Z'],
  ['2026-11-27 02:00:05.25 UTC', '2026-11-27T02:00:05.250Z'],
  ['2026-11-27T02:00+01:00', '2026-11-27T01:00:00.000Z'],
  ['2026-11-27T02:00-0330', '2026-11-27T05:30:00.000Z'],
  // Poland is an hour ahead of UTC in winter, and two in summer.
  ['2026-11-27 02:00', '2026-11-27T01:00:00.000Z'],
  ['2026-07-01', '2026-06-30T22:00:00.000Z'],
])('%s is %s in Poland', (text, at) => {
  process.env['TZ'] = 'Europe/Warsaw'
  expect(momentOf(text)).toEqual({ at: new Date(at) })
})

test.each([
  ['yesterday', 'Write the time as 2026-11-27T02:00Z'],
  ['2026-02-30 10:00', '2026-02-30 10:00 is no time'],
  ['2026-11-27 25:00', '2026-11-27 25:00 is no time'],
  // The hour that the clocks skip, and the hour that comes twice.
  ['2026-03-29 02:30', "2026-03-29 02:30 doesn't exist in your zone"],
  [
    '2026-10-25 02:30',
    '2026-10-25 02:30 comes twice in your zone: write 2026-10-25T00:30Z or 2026-10-25T01:30Z',
  ],
])('%s is refused with the reason', (text, reason) => {
  process.env['TZ'] = 'Europe/Warsaw'
  expect(momentOf(text)).toEqual({ at: null, reason: expect.stringContaining(reason) as string })
})
