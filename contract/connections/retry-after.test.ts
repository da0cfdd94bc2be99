import { expect, test } from 'vitest'
import { retryAfterMs } from './retry-after.ts'

test('Test that Retry-After is read as seconds and as a date, within a bound', () => {
  const nowMs = Date.parse('2026-11-29T10:00:00Z')
  const read = (header?: string | null) => retryAfterMs(header, { nowMs, mostMs: 3_600_000 })
  expect(read('120')).toBe(120_000)
  expect(read('0')).toBe(0)
  expect(read('86400')).toBe(3_600_000)
  expect(read('Sun, 29 Nov 2026 10:02:00 GMT')).toBe(120_000)
  expect(read('Sunday, 29-Nov-26 10:02:00 GMT')).toBe(120_000)
  expect(read('Sun Nov 29 10:02:00 2026')).toBe(120_000)
  expect(read('Sun, 29 Nov 2026 09:00:00 GMT')).toBe(0)
  expect(read('Mon, 30 Nov 2026 10:00:00 GMT')).toBe(3_600_000)
  for (const header of [undefined, null, '', '-1', '1.5', 'soon', 'Sun, 99 Foo 2026'])
    expect(read(header)).toBeNull()
})
