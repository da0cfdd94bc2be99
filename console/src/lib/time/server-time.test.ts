import { afterEach, expect, test } from 'vitest'
import { noteServerTime, serverNow } from './server-time.ts'
import { ago, until } from './time.ts'

const sayDate = (aheadMs: number, tookMs = 100) => {
  const cameAt = Date.now()
  noteServerTime(new Date(cameAt + aheadMs).toUTCString(), cameAt - tookMs, cameAt)
}
/** How much the server's time is ahead of the browser's, to the second. */
const aheadS = () => Math.round((serverNow() - Date.now()) / 1000)
afterEach(() => sayDate(0))

test("ages and time left come from the server's time if the browser's clock is wrong", () => {
  const at = new Date(Date.now() + 600_000).toISOString()
  expect([ago(at), until(at)]).toEqual(['just now', 'in 10 min'])
  sayDate(2 * 3_600_000)
  expect([ago(at), until(at)]).toEqual(['1 h ago', '1 h ago'])
  sayDate(-3_600_000)
  expect(until(at)).toBe('in 1 h')
})

test('a difference of seconds, a slow response and one without a date change nothing', () => {
  sayDate(2_000)
  expect(aheadS()).toBe(0)
  sayDate(60_000)
  expect(Math.abs(aheadS() - 60)).toBeLessThanOrEqual(1)
  sayDate(90_000, 20_000)
  noteServerTime(null, Date.now(), Date.now())
  noteServerTime('yesterday', Date.now(), Date.now())
  expect(Math.abs(aheadS() - 60)).toBeLessThanOrEqual(1)
  sayDate(0)
  expect(aheadS()).toBe(0)
})
