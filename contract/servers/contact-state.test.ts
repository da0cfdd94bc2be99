import { expect, test } from 'vitest'
import { contactStateOf } from './contact-state.ts'

const at = '2026-11-20T12:00:00Z'
const minutesLater = (n: number) => Date.parse(at) + n * 60_000
const well = {
  operation_id: null,
  talos: { reachable: true, unreachable_since: null, reason: null },
}
const silent = { reachable: false, unreachable_since: at, reason: 'connection refused' }

test('a server that installs or restarts during an operation is away, not unreachable', () => {
  const dark = { ...well, talos: silent, operation_id: 'o' }
  expect(contactStateOf(dark, minutesLater(14))).toBe('away')
  expect(contactStateOf(dark, minutesLater(16))).toBe('unreachable')
  expect(contactStateOf({ ...dark, operation_id: null }, minutesLater(1))).toBe('unreachable')
  expect(contactStateOf(well, minutesLater(1))).toBe('answers')
  expect(
    contactStateOf({ ...well, talos: { ...well.talos, reachable: null } }, minutesLater(1)),
  ).toBe('unasked')
})
