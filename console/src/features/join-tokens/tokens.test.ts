// @vitest-environment happy-dom
import { expect, test } from 'vitest'
import { expiryOf, usesOf } from './tokens.ts'

test('uses are shown with their limit if there is one', () => {
  expect(usesOf({ uses: 3, max_uses: 10 })).toBe('3 of 10')
  expect(usesOf({ uses: 12_000, max_uses: null })).toBe('12\u202f000')
})

test('shows when a token expires or expired', () => {
  const now = Date.parse('2026-11-20T12:00:00Z')
  expect(expiryOf({ expires_at: null }, now)).toBe('Never')
  expect(expiryOf({ expires_at: '2026-11-27T12:00:00Z' }, now)).toBe('in 7 d')
  expect(expiryOf({ expires_at: '2026-11-18T11:00:00Z' }, now)).toBe('2 d ago')
})
