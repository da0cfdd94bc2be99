import { beforeEach, expect, test } from 'vitest'
import { refreshLifetimeMs, tokenBox } from './tokens.ts'

const user = { id: 'u1', email: 'a@example.com', name: 'A' }
const access = (exp: number, sid = 's1') =>
  `e30.${btoa(JSON.stringify({ sub: 'u1', sid, exp, scopes: [] }))}.sig`

let stored: Map<string, string>
let box: ReturnType<typeof tokenBox>
beforeEach(() => {
  stored = new Map()
  box = tokenBox({
    getItem: (key) => stored.get(key) ?? null,
    setItem: (key, value) => stored.set(key, value),
    removeItem: (key) => stored.delete(key),
  })
})

test('a session is valid while user, refresh token and access token exist and have not expired', () => {
  expect(box.isValid(0)).toBe(false)
  box.signIn(user, access(600), 'refresh', 0)
  expect(box.isValid(599_000)).toBe(true)
  expect(box.isValid(600_000)).toBe(false)
  expect([refreshLifetimeMs, box.refresh()?.expiresAt]).toEqual([86_400 * 1000, refreshLifetimeMs])
  stored.set('steelyard.user', JSON.stringify({ id: 'u1', email: 'a@example.com' }))
  expect(box.isValid(0)).toBe(false)
})

test('tokens of a server whose clock is ten minutes off keep their full lifetime', () => {
  for (const skew of [-630, 630]) {
    const now = 1_000_000
    const issued = now + skew
    const token = `e30.${btoa(JSON.stringify({ sub: 'u1', sid: 's1', iat: issued, exp: issued + 600, scopes: [] }))}.sig`
    box.signIn(user, token, 'refresh', now * 1000)
    expect(box.access()?.expiresAt).toBe((now + 600) * 1000)
    // The expiry is stored as the token says it.
    expect(JSON.parse(stored.get('steelyard.token.s1.access')!)).toMatchObject({
      expiresAt: (issued + 600) * 1000,
    })
    box.refreshed('u1 s1', token, undefined, now * 1000)
    expect(box.isValid((now + 599) * 1000)).toBe(true)
  }
})

test('a new refresh token expires no later than the first one of its session', () => {
  box.signIn(user, access(600), 'one', 0)
  box.refreshed('u1 s1', access(1200), 'two', 500_000)
  expect(box.refresh()).toMatchObject({
    value: 'two',
    expiresAt: refreshLifetimeMs,
    sessionId: 's1',
    userId: 'u1',
  })
  expect(box.access()).toMatchObject({ expiresAt: 1_200_000 })
  box.refreshed('u1 s1', access(1800), undefined, 900_000)
  expect(box.refresh()?.value).toBe('two')
})

test('tokens, the list of tokens and the session are stored with the specified fields', () => {
  box.signIn(user, access(600), 'r', 0)
  const read = (key: string) => JSON.parse(stored.get(key)!) as unknown
  const [short, long] = ['steelyard.token.s1.access', 'steelyard.token.s1.refresh'] as const
  expect(read(short)).toEqual({
    value: access(600),
    type: 'access',
    expiresAt: 600_000,
    userId: 'u1',
    sessionId: 's1',
  })
  expect(read(long)).toEqual({
    value: 'r',
    type: 'refresh',
    expiresAt: refreshLifetimeMs,
    userId: 'u1',
    sessionId: 's1',
  })
  expect(read('steelyard.user-tokens.u1')).toEqual([
    { accessToken: short, refreshToken: long, sessionId: 's1' },
  ])
  const at = new Date(0).toISOString()
  expect(read('steelyard.session.s1')).toEqual({
    id: 's1',
    userId: 'u1',
    createdAt: at,
    lastUsedAt: at,
  })
})

test('only the four specified kinds of storage keys are written', () => {
  box.signIn(user, access(600), 'r', 0)
  expect([...stored.keys()].toSorted()).toEqual([
    'steelyard.session.s1',
    'steelyard.token.s1.access',
    'steelyard.token.s1.refresh',
    'steelyard.user',
    'steelyard.user-tokens.u1',
  ])
})

test('every session of the user can be revoked', () => {
  box.signIn(user, access(600, 's1'), 'one', 0)
  box.signIn(user, access(600, 's2'), 'two', 0)
  expect(box.allRefresh()).toEqual(['one', 'two'])
  expect(box.refresh()?.value).toBe('two')
})

test('unreadable values count as missing', () => {
  stored.set('steelyard.user', '{')
  expect(box.user()).toBeNull()
  box.signIn(user, access(600), 'r', 0)
  stored.set('steelyard.token.s1.access', 'null')
  expect(box.access()).toBeNull()
  expect(() => box.signIn(user, 'no token', 'r', 0)).toThrow('Invalid token')
})
