// @vitest-environment happy-dom
import { expect, test } from 'vitest'
import { expiryOf, statusNow, usesOf } from './tokens.ts'

test('the number of uses is shown with the limit, if the token has one', () => {
  expect(usesOf({ uses: 3, max_uses: 10 })).toBe('3 of 10')
  expect(usesOf({ uses: 12_000, max_uses: null })).toBe('12\u202f000')
})

test('a token expires while its list is open, and one that was revoked stays so', () => {
  const [before, after] = ['2026-11-20T11:59:59Z', '2026-11-20T12:00:00Z'].map((at) =>
    Date.parse(at),
  )
  const of = (status: 'usable' | 'revoked', now = 0) =>
    statusNow({ status, expires_at: '2026-11-20T12:00:00Z' }, now)
  expect([of('usable', before), of('usable', after)]).toEqual(['usable', 'expired'])
  expect(of('revoked', after)).toBe('revoked')
  expect(statusNow({ status: 'usable', expires_at: null }, after)).toBe('usable')
})

test('the expiry of a token is shown as a future or past time', () => {
  const now = Date.parse('2026-11-20T12:00:00Z')
  expect(expiryOf({ expires_at: null }, now)).toBe('Never')
  expect(expiryOf({ expires_at: '2026-11-27T12:00:00Z' }, now)).toBe('in 7 d')
  expect(expiryOf({ expires_at: '2026-11-18T11:00:00Z' }, now)).toBe('2 d ago')
})
