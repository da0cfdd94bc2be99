import { expect, test } from 'vitest'
import { powerStateOf } from '../acts/power.ts'
import { factsOf } from './vendors.ts'

const of = (Vendor: string | null, Model: string | null = null) =>
  factsOf({
    root: { Vendor, Product: null, Oem: [] },
    manager: { Model, Manufacturer: null, FirmwareVersion: null },
  })

test('a vendor is known by its root, its manager or its extensions', () => {
  expect(of('Dell').vendor).toBe('Dell')
  expect(of(null, 'iDRAC 9').vendor).toBe('Dell')
  expect(factsOf({ root: { Vendor: null, Product: null, Oem: ['Hpe'] } }).vendor).toBe('HPE')
  expect(of('Contoso').vendor).toBeNull()
})

test('iDRAC is given 90 s after off until it accepts on, and 20 s between acts', () => {
  expect(of('Dell')).toMatchObject({ readyWithinMs: 90_000, betweenActsMs: 20_000 })
  expect(of('Contoso')).toMatchObject({ readyWithinMs: 15_000, betweenActsMs: 0 })
})

test('iLO is given a minute during its self-test, and "Reset" is no off', () => {
  expect(of('HPE')).toMatchObject({ readyWithinMs: 60_000 })
  expect(powerStateOf('Reset', of('HPE'))).toBe('turning_on')
  expect(powerStateOf('Reset', of('Contoso'))).toBe('unknown')
})
