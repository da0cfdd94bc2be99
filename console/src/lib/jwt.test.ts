import { expect, test } from 'vitest'
import { readClaims } from './jwt.ts'

const base64url = (text: string) =>
  btoa(String.fromCharCode(...new TextEncoder().encode(text)))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
const token = (payload: unknown) => `e30.${base64url(JSON.stringify(payload))}.sig`

test('a payload with non-ASCII text is read', () => {
  expect(
    readClaims(
      token({
        sub: 'u',
        sid: 's',
        email: 'ø@example.com',
        scopes: ['servers:read'],
        iat: 4,
        exp: 5,
      }),
    ),
  ).toEqual({
    iat: 4,
    sub: 'u',
    sid: 's',
    email: 'ø@example.com',
    scopes: ['servers:read'],
    exp: 5,
  })
  expect(readClaims(token({ sub: 'u', sid: 's', exp: 5, scopes: 'all' })).scopes).toEqual([])
})

test('anything but a JWT is an invalid token', () => {
  for (const bad of [
    undefined,
    7,
    '',
    'abc',
    'a.%%%.c',
    'a.e30.c',
    token({ sub: 1, sid: 's', exp: 1 }),
    token({ sub: 'u', sid: 's', exp: 'soon' }),
  ])
    expect(() => readClaims(bad)).toThrow('Invalid token')
})
