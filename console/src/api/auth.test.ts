import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { subnetCreate } from '#contract/network/subnets.ts'
import { patchCreate } from '#contract/patches.ts'
import { scopesOf } from '#contract/permissions.ts'
import { serverGet, serverList, serverUpdate } from '#contract/servers/servers.ts'
import { sessionGet } from '#contract/sessions.ts'
import type * as authModule from './auth.ts'
import { type Answered, renewed, sessionAnswer, TestApi } from './testing/api.ts'
import { Kept, token, user } from './testing/tokens.ts'
import { tokenBox } from './tokens.ts'

const notices: string[] = []
vi.mock('../ui/feedback/toast.ts', () => {
  const tell = (text: string) => void notices.push(text)
  return {
    toast: {
      error: tell,
      lastError: tell,
      info: tell,
      success: tell,
      dismiss: () => undefined,
      hearErrors: () => undefined,
    },
  }
})

const reported: unknown[] = []
vi.mock('./report.ts', () => ({ report: (error: unknown) => void reported.push(error) }))

const [local, session] = [new Kept(), new Kept()]
const api = new TestApi()
let auth: typeof authModule

beforeAll(async () => {
  vi.stubEnv('VITE_API_URL', await api.start())
  vi.stubGlobal('localStorage', local)
  vi.stubGlobal('sessionStorage', session)
})
afterAll(() => api.stop())
beforeEach(async () => {
  for (const box of [local, session]) box.clear()
  notices.splice(0)
  reported.splice(0)
  api.begin()
  vi.stubGlobal('window', new EventTarget())
  vi.resetModules()
  auth = await import('./auth.ts')
})
afterEach(() => void vi.restoreAllMocks())

/** A stored session, by default with a valid access token. */
const stored = (lifeSeconds = 600, scopes: string[] = []) =>
  tokenBox(local).signIn(user, token('first', lifeSeconds, scopes), 'refresh', Date.now())
test('a refused refresh ends the session at once, shows one notice, and empties the storage', async () => {
  stored(0)
  auth.authStatus.set('signedIn')
  api.answers = () => [
    401,
    { error: 'Session expired. Please sign in again.', code: 'session_expired' },
  ]
  const { call } = await import('./client.ts')
  await Promise.all(
    [1, 2, 3].map(() => expect(call(sessionGet)).rejects.toThrow('Session expired')),
  )
  expect(api.asked).toEqual(['/v1/authorize/refresh'])
  expect(notices).toEqual(['Session expired. Please sign in again.'])
  expect([auth.authStatus.get(), local.size]).toEqual(['signedOut', 0])
})

test('a refresh that fails without a decision of the server is retried, and the session continues', async () => {
  stored(0)
  auth.authStatus.set('signedIn')
  const tries: Answered[] = [[503, { error: 'Busy.' }], renewed()]
  api.answers = () => tries.shift() ?? [500, {}]
  expect(await auth.sessionHolds()).toBe(true)
  expect(api.asked).toHaveLength(2)
  expect(notices).toEqual([])
  expect(tokenBox(local).refresh()?.value).toBe('refresh-2')
})

test('the guard refreshes an expired access token before it validates the session', async () => {
  stored(0)
  auth.authStatus.set('signedIn')
  api.answers = renewed
  expect(await auth.sessionHolds()).toBe(true)
  expect(api.asked).toEqual(['/v1/authorize/refresh'])
})

test('a failed validation signs the user out with one notice, and is logged to the browser’s console', async () => {
  stored()
  const logged = vi.spyOn(console, 'error').mockImplementation(() => undefined)
  api.answers = () => [403, { error: 'This account is disabled.' }]
  await auth.validateSession()
  expect([auth.authStatus.get(), local.size, notices]).toEqual([
    'signedOut',
    0,
    ['Session expired. Please sign in again.'],
  ])
  expect(logged).toHaveBeenCalledWith(
    'The session could not be validated:',
    'This account is disabled.',
  )
})

test('a failed validation is logged also if another call of the page has ended the session before', async () => {
  stored()
  const logged = vi.spyOn(console, 'error').mockImplementation(() => undefined)
  const { call } = await import('./client.ts')
  api.answers = () => [401, { error: 'no' }]
  const page = call(serverList, { query: {} }).catch(() => undefined)
  await Promise.all([auth.validateSession(), page])
  expect([auth.authStatus.get(), local.size, notices]).toEqual([
    'signedOut',
    0,
    ['Session expired. Please sign in again.'],
  ])
  expect(logged).toHaveBeenCalledOnce()
  expect(logged).toHaveBeenCalledWith('The session could not be validated:', expect.any(String))
})

const without = (field: keyof typeof sessionAnswer) =>
  Object.fromEntries(Object.entries(sessionAnswer).filter(([key]) => key !== field))
test.each<[string, unknown]>([
  ['false', false],
  ['null', null],
  ['an empty text', ''],
  ['a number', 1],
  ['an empty object', {}],
  ['a list', [sessionAnswer]],
  ['no user', without('user')],
  ['no scopes', without('scopes')],
  ['no end', without('expiresAt')],
  ['a user without a name', { ...sessionAnswer, user: { id: user.id, email: user.email } }],
  ['another user', { ...sessionAnswer, user: { ...user, id: 'u2' } }],
  ['scopes that are no list', { ...sessionAnswer, scopes: 'servers:read' }],
  ['scopes that are no texts', { ...sessionAnswer, scopes: [1] }],
  ['an end that is no time', { ...sessionAnswer, expiresAt: 'soon' }],
])('a validation that answers 200 with %s signs the user out', async (_, body) => {
  stored()
  vi.spyOn(console, 'error').mockImplementation(() => undefined)
  api.answers = () => [200, body]
  await auth.validateSession()
  expect([auth.authStatus.get(), local.size, api.asked]).toEqual(['signedOut', 0, ['/v1/session']])
})

test('a session that the server refuses again after a refresh is signed out', async () => {
  stored()
  const logged = vi.spyOn(console, 'error').mockImplementation(() => undefined)
  api.answers = (path) => (path.endsWith('/refresh') ? renewed() : [401, { error: 'no' }])
  await auth.validateSession()
  expect([auth.authStatus.get(), local.size, api.asked]).toEqual([
    'signedOut',
    0,
    ['/v1/session', '/v1/authorize/refresh', '/v1/session'],
  ])
  expect(logged).toHaveBeenCalledWith('The session could not be validated:', 'Session is expired!')
})

test('a call that the server refuses again after a refresh ends the session', async () => {
  stored()
  auth.authStatus.set('signedIn')
  api.answers = (path) => (path.endsWith('/refresh') ? renewed() : [401, { error: 'no' }])
  const { call } = await import('./client.ts')
  await expect(call(sessionGet)).rejects.toThrow('Session expired')
  expect([auth.authStatus.get(), local.size, notices]).toEqual([
    'signedOut',
    0,
    ['Session expired. Please sign in again.'],
  ])
})

test('if a validation gets 401, the token is refreshed once and the second response counts', async () => {
  stored()
  let first = true
  api.answers = (path) => {
    if (path.endsWith('/refresh')) return renewed()
    const refused = first
    first = false
    return refused ? [401, { error: 'no' }] : [200, sessionAnswer]
  }
  await auth.validateSession()
  expect([auth.authStatus.get(), api.asked]).toEqual([
    'signedIn',
    ['/v1/session', '/v1/authorize/refresh', '/v1/session'],
  ])
})

test("a disabled action gives the user's role as the reason only while the user is signed in", async () => {
  stored(600, ['network:read'])
  const { allowed } = await import('./session.ts')
  expect(allowed(subnetCreate)).toEqual({
    ok: false,
    reason: 'Your role does not include network:write',
  })
  local.clear()
  stored(600, [...scopesOf.viewer])
  expect(allowed(subnetCreate)).toMatchObject({
    reason: expect.stringMatching(
      /^Your role does not include network:write\. You are a viewer;/,
    ) as string,
  })
  local.clear()
  expect(allowed(subnetCreate)).toEqual({
    ok: false,
    reason: 'Your session has ended. Sign in again.',
  })
})

test('a failed sign-in without a message of the server shows the specified message', async () => {
  for (const [answer, said] of [
    [[502, '<html>'], 'Authentication failed'],
    [[401, { error: 'Invalid email or password' }], 'Invalid email or password'],
    [[200, {}], 'No authentication data received'],
  ] as [Answered, string][]) {
    api.answers = () => answer
    await expect(auth.signIn('a@example.com', 'x')).rejects.toThrow(said)
    expect(notices.at(-1)).toBe(`An unexpected error occurred: ${said}`)
  }
})

test('the question for a code is neither reported nor shown as a failure, and the code is sent with the password', async () => {
  api.answers = () => [
    409,
    { error: 'Enter the code of your authenticator app', code: 'second_factor_needed' },
  ]
  const refused = await auth.signIn('a@example.com', 'x').catch((error: unknown) => error)
  expect([auth.needsCode(refused), notices]).toEqual([true, []])
  api.answers = () => [
    200,
    { userData: user, accessToken: token('first', 600), refreshToken: 'refresh' },
  ]
  await auth.signIn('a@example.com', 'x', '123456')
  expect(auth.authStatus.get()).toBe('signedIn')
})

test('the status is loading until the stored session is validated, then signedIn if the server confirms it and signedOut if not; the flag says that a validation runs', async () => {
  expect([auth.authStatus.get(), auth.authLoading.get()]).toEqual(['loading', false])
  stored()
  api.answers = () => [200, sessionAnswer]
  const validated = auth.validateSession()
  expect([auth.authStatus.get(), auth.authLoading.get()]).toEqual(['loading', true])
  await validated
  expect([auth.authStatus.get(), auth.authLoading.get()]).toEqual(['signedIn', false])
  local.clear()
  auth.authStatus.set('loading')
  await auth.validateSession()
  expect(auth.authStatus.get()).toBe('signedOut')
})

test('the guard lets the user in while the session is being validated, and nobody without a session', async () => {
  expect(await auth.sessionHolds()).toBe(true)
  auth.authStatus.set('signedOut')
  expect(await auth.sessionHolds()).toBe(false)
})

test('a signed-in user whose stored tokens are gone is signed out by the guard', async () => {
  stored()
  auth.authStatus.set('signedIn')
  local.clear()
  expect(await auth.sessionHolds()).toBe(false)
  expect([auth.authStatus.get(), api.asked]).toEqual(['signedOut', []])
})

test('without a stored user or a valid refresh token there is no access token', async () => {
  const { accessToken } = await import('./access.ts')
  await expect(accessToken()).rejects.toThrow('User not found!')
  tokenBox(local).signIn(user, token('first', 600), 'refresh', Date.now() - 86_400_001)
  await expect(accessToken()).rejects.toThrow('Session is expired!')
  expect(api.asked).toEqual([])
})

test('after a 401 the token is refreshed once, and the request is sent once more with the new token', async () => {
  stored()
  auth.authStatus.set('signedIn')
  const [first] = Object.values(tokenBox(local).access() ?? {})
  const tries: Answered[] = [[401, { error: 'no' }], renewed(), [200, sessionAnswer]]
  api.answers = () => tries.shift() ?? [500, {}]
  const { call } = await import('./client.ts')
  expect(await call(sessionGet)).toMatchObject({ user })
  expect(api.asked).toEqual(['/v1/session', '/v1/authorize/refresh', '/v1/session'])
  const bearers = api.sent.map(({ headers }) => headers.authorization)
  expect(bearers).toEqual([
    `Bearer ${String(first)}`,
    undefined,
    `Bearer ${tokenBox(local).access()!.value}`,
  ])
  expect(bearers[2]).not.toBe(bearers[0])
})

test('a request is not sent again in the name of another user who has signed in meanwhile', async () => {
  stored()
  auth.authStatus.set('signedIn')
  const other = { id: 'u2', email: 'b@example.com', name: 'B' }
  api.answers = (path) => {
    // In another tab, somebody else signs in while the request is on its way.
    if (path === '/v1/session')
      tokenBox(local).signIn(other, token('other', 600), 'refresh of the other', Date.now())
    return [401, { error: 'no' }]
  }
  const { call } = await import('./client.ts')
  await expect(call(sessionGet)).rejects.toThrow('Cannot retry request')
  expect(api.asked).toEqual(['/v1/session'])
  expect(tokenBox(local).user()).toEqual(other)
  expect(notices).toEqual(['Cannot retry request'])
})

test('a 403 shows the notice, and the response is returned as it is', async () => {
  stored()
  api.answers = () => [
    403,
    { error: 'Your role does not include servers:write', code: 'forbidden' },
  ]
  const { authorized } = await import('./client.ts')
  const response = await authorized(serverUpdate, { params: { id: '7' }, body: { name: 'a' } })
  expect([response.status, await response.json()]).toEqual([
    403,
    { error: 'Your role does not include servers:write', code: 'forbidden' },
  ])
  expect(notices).toEqual(["Access denied. You don't have permission for this action."])
})

test('every call is sent to the API as JSON with the stored access token, except sign-in and refresh, which carry none', async () => {
  api.answers = (path) => {
    if (path.endsWith('/authorize'))
      return [200, { userData: user, accessToken: token('first', 600), refreshToken: 'refresh' }]
    return path.endsWith('/refresh')
      ? renewed()
      : [200, { items: [], total: 0, page: 1, per_page: 1000 }]
  }
  await auth.signIn('a@example.com', ' x ')
  const { call, callOpen } = await import('./client.ts')
  const { accessToken } = await import('./access.ts')
  const { passwordResetLook } = await import('#contract/sessions.ts')
  const bearer = `Bearer ${tokenBox(local).access()!.value}`
  await call(serverList, { query: { page: 1, per_page: 1000 } })
  await callOpen(passwordResetLook, { body: { token: 'x' } })
  await accessToken(tokenBox(local).access()!.value)
  const newer = `Bearer ${tokenBox(local).access()!.value}`
  await auth.logOut()
  expect(api.sent.map(({ path, headers }) => [path, headers.authorization])).toEqual([
    ['/v1/authorize', undefined],
    ['/v1/nodes?page=1&per_page=1000', bearer],
    [passwordResetLook.path, bearer],
    ['/v1/authorize/refresh', undefined],
    ['/v1/authorize/logout', newer],
  ])
  expect(api.sent.every(({ headers }) => headers['content-type'] === 'application/json')).toBe(true)
  expect(JSON.parse(api.sent[0]!.body)).toEqual({ email: 'a@example.com', password: ' x ' })
  expect(JSON.parse(api.sent[3]!.body)).toMatchObject({ refresh_token: 'refresh' })
})

test.each<[string, Answered]>([
  ['an error without a body', [500, '']],
  ['an error whose body is null', [502, null]],
  ['an error whose message is empty', [404, { error: '' }]],
  ['success without data', [200, null]],
])(
  '%s shows the specified sentence of the call, or says that no reason was given',
  async (_, answer) => {
    stored()
    auth.authStatus.set('signedIn')
    api.answers = () => answer
    const { call } = await import('./client.ts')
    await expect(call(serverGet, { params: { id: '7' } })).rejects.toThrow('Server 7 not found')
    await expect(
      call(patchCreate, { params: { id: '7' }, body: { name: 'a', body: '' } }),
    ).rejects.toThrow('Failed to create patch for node 7')
    await expect(call(serverUpdate, { params: { id: '7' }, body: { name: 'a' } })).rejects.toThrow(
      'Server name could not be updated',
    )
    await expect(
      call(serverUpdate, { params: { id: '7' }, body: { datacenter_id: null } }),
    ).rejects.toThrow(/gave no reason|could not be read/)
  },
)

test("the server's own sentence takes precedence over the specified one", async () => {
  stored()
  api.answers = () => [404, { error: 'The server was removed', code: 'not_found' }]
  const { call } = await import('./client.ts')
  await expect(call(serverGet, { params: { id: '7' } })).rejects.toThrow('The server was removed')
})

test('the list of servers is cached under the key servers, and queries are not refetched on focus', async () => {
  const { keyOf, queryClient } = await import('./query.ts')
  expect([keyOf(serverList), keyOf(serverGet)]).toEqual(['servers', 'serverGet'])
  expect(queryClient.getDefaultOptions().queries).toMatchObject({ refetchOnWindowFocus: false })
})

test('failures of sign-in and refresh are reported, and a notice is shown', async () => {
  api.answers = () => [401, { error: 'Invalid email or password' }]
  await expect(auth.signIn('a@example.com', 'x')).rejects.toThrow('Invalid email or password')
  expect([reported.length, notices]).toEqual([
    1,
    ['An unexpected error occurred: Invalid email or password'],
  ])
  stored(0)
  auth.authStatus.set('signedIn')
  const { call } = await import('./client.ts')
  await expect(call(sessionGet)).rejects.toThrow('Invalid email or password')
  expect([reported.length, notices.at(-1)]).toEqual([2, 'Session expired. Please sign in again.'])
})
