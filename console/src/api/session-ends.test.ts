import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import type * as authModule from './auth.ts'
import { renewed, sessionAnswer, TestApi } from './testing/api.ts'
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
test('after 30 s without a decision of the server, the guard ends the session', async () => {
  stored(0)
  auth.authStatus.set('signedIn')
  api.answers = () => [502, {}]
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] })
  const began = Date.now()
  const seen = { over: false, tookMs: 0 }
  const guard = auth
    .sessionHolds()
    .finally(() => Object.assign(seen, { over: true, tookMs: Date.now() - began }))
  while (!seen.over) {
    await vi.advanceTimersByTimeAsync(250)
    // The requests use a real connection, so fake timers alone don't complete them: let the event
    // loop run.
    await new Promise((resolve) => setImmediate(resolve))
  }
  vi.useRealTimers()
  expect(await guard).toBe(false)
  expect(seen.tookMs).toBeGreaterThan(20_000)
  expect(seen.tookMs).toBeLessThan(32_000)
  expect(notices).toEqual([
    'An unexpected error occurred: Steelyard could not do this, and gave no reason (status 502).',
  ])
  expect([auth.authStatus.get(), local.size]).toEqual(['signedOut', 0])
})

test('a refresh with an unreadable answer ends the session at once, with the notice of an expired one', async () => {
  for (const body of ['<html>', {}, { access_token: 'no.token' }]) {
    stored(0)
    auth.authStatus.set('signedIn')
    api.asked = []
    notices.splice(0)
    api.answers = () => [200, body]
    expect(await auth.sessionHolds()).toBe(false)
    expect(api.asked).toEqual(['/v1/authorize/refresh'])
    expect(notices).toEqual(['Session expired. Please sign in again.'])
    expect([auth.authStatus.get(), local.size]).toEqual(['signedOut', 0])
  }
})

test.each(['', 'no token', 'a.b.c', 'a.e30.c'])(
  'the stored access token %j, which cannot be decoded, is replaced by a refresh',
  async (value) => {
    stored()
    auth.authStatus.set('signedIn')
    const key = [...local.keys()].find((one) => one.endsWith('.access'))!
    local.set(key, JSON.stringify({ ...JSON.parse(local.get(key)!), value }))
    const { heldScopes } = await import('./session.ts')
    expect(heldScopes()).toBeNull()
    api.answers = renewed
    expect(await auth.sessionHolds()).toBe(true)
    expect([api.asked, notices]).toEqual([['/v1/authorize/refresh'], []])
    expect(heldScopes()).toEqual([])
  },
)

test('logging out finishes within 5 s even if the server never answers, and other failures meanwhile show no notice', async () => {
  stored()
  auth.authStatus.set('signedIn')
  api.answers = () => 'never'
  const limits: number[] = []
  const timeout = AbortSignal.timeout.bind(AbortSignal)
  vi.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => {
    limits.push(ms)
    return timeout(ms / 40)
  })
  const ended: boolean[] = []
  auth.whenSessionEnds(({ explicit }) => ended.push(explicit))
  const out = auth.logOut()
  auth.sessionLost(tokenBox(local).session())
  expect(ended).toEqual([])
  await out
  expect(limits.every((ms) => ms <= 4_500)).toBe(true)
  expect([ended, notices, auth.authStatus.get(), local.size]).toEqual([[true], [], 'signedOut', 0])
  // The sign-out is sent again in the background until the server confirms it.
  api.answers = () => [204, undefined]
  const before = api.asked.length
  await expect.poll(() => api.asked.length).toBeGreaterThan(before)
})

test('a Log out in another tab ends the session of this one without a notice, an expired one with it', async () => {
  const heard = (key: string | null) =>
    window.dispatchEvent(Object.assign(new Event('storage'), { key, newValue: null }))
  for (const isLogOut of [true, false]) {
    vi.resetModules()
    auth = await import('./auth.ts')
    stored()
    api.answers = () => [200, sessionAnswer]
    await auth.validateSession()
    const record = [...local.keys()].find((key) => key.startsWith('steelyard.session.'))!
    if (isLogOut) {
      local.delete(record)
      heard(record)
    }
    expect(auth.authStatus.get()).toBe('signedIn')
    local.clear()
    heard(null)
    expect([auth.authStatus.get(), auth.wasLoggedOut(), notices]).toEqual([
      'signedOut',
      isLogOut,
      isLogOut ? [] : ['Session expired. Please sign in again.'],
    ])
    vi.stubGlobal('window', new EventTarget())
  }
})

test('missing or expired tokens are detected without a request, and reported once', async () => {
  stored()
  auth.authStatus.set('signedIn')
  vi.useFakeTimers({ toFake: ['setInterval', 'Date'] })
  auth.watchSession()
  vi.advanceTimersByTime(60_000)
  expect(notices).toEqual([])
  vi.setSystemTime(Date.now() + 86_400_000)
  vi.advanceTimersByTime(10_000)
  vi.useRealTimers()
  expect([auth.authStatus.get(), notices]).toEqual([
    'signedOut',
    ['Session expired. Please sign in again.'],
  ])
})
