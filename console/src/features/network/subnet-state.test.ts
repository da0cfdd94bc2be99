import { expect, test } from 'vitest'
import { subnetStatuses } from '#contract/network/subnets.ts'
import { hasShare, subnetSaid, usedText } from './subnet-state.ts'

test('an unknown number of used addresses is not shown as 0, and IPv6 subnets show no percentage', () => {
  expect(usedText({ used: null, total: 253, type: 'IPv4' })).toBe(null)
  expect(usedText({ used: 0, total: 253, type: 'IPv4' })).toBe('0 of 253')
  expect(usedText({ used: 118, total: null, type: 'IPv6' })).toBe('118 in use')
  expect([
    hasShare({ used: 0, total: 9, type: 'IPv4' }),
    hasShare({ used: null, total: 9, type: 'IPv4' }),
    hasShare({ used: 1, total: 9, type: 'IPv6' }),
  ]).toEqual([true, false, false])
})

test('every status has a label', () => {
  for (const status of subnetStatuses) expect(subnetSaid({ status }).word).toMatch(/^[A-Z]/)
})
