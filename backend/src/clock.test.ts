import { expect, test } from 'vitest'
import { elapsedMs, systemClock } from './clock.ts'

const now = Date.UTC(2026, 5, 1, 12)
const day = 86_400_000

test.each([
  ['a clock that ran steadily', now - 5_000, 0, 5_000],
  ['one that jumped a day ahead two seconds ago', now - day - 3_000, now - 2_000, 2_000],
  ['one that jumped a day back two seconds ago: what it wrote before lies in the future', now + day - 3_000, now - 2_000, 2_000],
  ['a time in the future and no jump known, as after a restart', now + day, 0, 0],
])('what has lasted by %s', (_name, since, steadySince, expected) => {
  expect(elapsedMs({ now, steadySince }, since)).toBe(expected)
})

test('the system clock reports no jump', () => {
  expect(Math.abs(systemClock.now() - Date.now())).toBeLessThan(1_000)
  expect(systemClock.steadySince()).toBe(0)
})
