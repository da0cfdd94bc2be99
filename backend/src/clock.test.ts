import { expect, test } from 'vitest'
import { elapsedMs, systemClock } from './clock.ts'

const now = Date.UTC(2026, 5, 1, 12)
const day = 86_400_000

test.each([
  ['a clock that ran steadily', now - 5_000, 0, 5_000],
  ['a clock that jumped a day ahead two seconds ago', now - day - 3_000, now - 2_000, 2_000],
  [
    'a clock that jumped a day back two seconds ago, so earlier times lie in the future',
    now + day - 3_000,
    now - 2_000,
    2_000,
  ],
  [
    'a clock without a recorded jump, with a start time in the future, as after a restart',
    now + day,
    0,
    0,
  ],
])('the elapsed time is correct for %s', (_name, since, steadySince, expected) => {
  expect(elapsedMs({ now, steadySince }, since)).toBe(expected)
})

test('systemClock returns the system time and has not recorded a jump', () => {
  const before = Date.now()
  const now = systemClock.now()
  expect([before <= now, now <= Date.now()]).toEqual([true, true])
  expect(systemClock.steadySince()).toBe(0)
})
