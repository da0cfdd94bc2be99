import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { subnetCreate } from '#contract/network/subnets.ts'
import type * as authModule from './auth.ts'
import { tokenBox } from './tokens.ts'

const notices: string[] = []
vi.mock('../ui/feedback/toast.ts', () => {
  const tell = (text: string) => void notices.push(text)
  return { toast: { error: tell, lastError: tell, info: tell, success: tell, dismiss: () => undefined, hearErrors: () => undefined } }
})

/** A stand-in for the browser's Storage, with only the methods that the tested code uses. */
class Kept extends Map<string, string> {
  getItem = (key: string) => this.get(key) ?? null
  setItem = (key: string, value: string) => void this.set(key, value)
  removeItem = (key: string) => void this.delete(key)
}
const [local, session] = [new Kept(), new Kept()]
const user = { id: 'u1', email: 'a@example.com', name: 'A' }
const token = (name: string, lifeSeconds: number, scopes: string[] = []) => {
  const iat = Math.floor(Date.now() / 1000)
  return `e30.${btoa(JSON.stringify({ sub: 'u1', sid: 's1', iat, exp: iat + lifeSeconds, scopes, name }))}.sig`
}

/** The next response for a path. 'never': the server accepts the request and sends no response. */
type Answered = [status: number, body: unknown] | 'never'
let answers: (path: string) => Answered
let asked: string[]
let server: Server
let auth: typeof authModule

beforeAll(async () => {
  server = createServer((request, response) => {
    const path = request.url!
    asked.push(path)
    const answer = answers(path)
    if (answer === 'never') return
    response.writeHead(answer[0], { 'content-type': 'application/json' }).end(JSON.stringify(answer[1]))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  vi.stubEnv('VITE_API_URL', `http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  vi.stubGlobal('localStorage', local)
  vi.stubGlobal('sessionStorage', session)
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})
beforeEach(async () => {
  for (const box of [local, session]) box.clear()
  notices.splice(0)
  asked = []
  vi.stubGlobal('window', new EventTarget())
  vi.resetModules()
  auth = await import('./auth.ts')
})
afterEach(() => void vi.restoreAllMocks())

/** A stored session, by default with a valid access token. */
const stored = (lifeSeconds = 600, scopes: string[] = []) => tokenBox(local).signIn(user, token('first', lifeSeconds, scopes), 'refresh', Date.now())
const sessionAnswer = { user, scopes: [], expiresAt: new Date(Date.now() + 3_600_000).toISOString() }
const renewed = (): Answered => [200, { access_token: token('second', 600), refresh_token: 'refresh-2' }]

test('a refused refresh ends the session at once, shows one notice, and empties the storage', async () => {
  stored(0)
  auth.authStatus.set('signedIn')
  answers = () => [401, { error: 'Session expired. Please sign in again.', code: 'session_expired' }]
  const { call } = await import('./client.ts')
  const { sessionGet } = await import('#contract/sessions.ts')
  await Promise.all([1, 2, 3].map(() => expect(call(sessionGet)).rejects.toThrow('Session expired')))
  expect(asked).toEqual(['/v1/authorize/refresh'])
  expect(notices).toEqual(['Session expired. Please sign in again.'])
  expect([auth.authStatus.get(), local.size]).toEqual(['signedOut', 0])
})

test('a refresh that fails without a decision of the server is retried, and the session continues', async () => {
  stored(0)
  auth.authStatus.set('signedIn')
  const tries: Answered[] = [[503, { error: 'Busy.' }], renewed()]
  answers = () => tries.shift() ?? [500, {}]
  expect(await auth.sessionHolds()).toBe(true)
  expect(asked).toHaveLength(2)
  expect(notices).toEqual([])
  expect(tokenBox(local).refresh()?.value).toBe('refresh-2')
})

test('after 30 s without a decision of the server, the guard ends the session', async () => {
  stored(0)
  auth.authStatus.set('signedIn')
  answers = () => [502, {}]
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] })
  const began = Date.now()
  const seen = { over: false, tookMs: 0 }
  const guard = auth.sessionHolds().finally(() => Object.assign(seen, { over: true, tookMs: Date.now() - began }))
  while (!seen.over) {
    await vi.advanceTimersByTimeAsync(250)
    // The requests use a real connection, so fake timers alone don't complete them: let the event loop run.
    await new Promise((resolve) => setImmediate(resolve))
  }
  vi.useRealTimers()
  expect(await guard).toBe(false)
  expect(seen.tookMs).toBeGreaterThan(20_000)
  expect(seen.tookMs).toBeLessThan(32_000)
  expect(notices).toEqual(['Session expired. Please sign in again.'])
  expect([auth.authStatus.get(), local.size]).toEqual(['signedOut', 0])
})

test('the guard refreshes an expired access token before it validates the session', async () => {
  stored(0)
  auth.authStatus.set('signedIn')
  answers = renewed
  expect(await auth.sessionHolds()).toBe(true)
  expect(asked).toEqual(['/v1/authorize/refresh'])
})

test('a failed validation signs the user out with one notice, and is logged to the browser’s console', async () => {
  stored()
  const logged = vi.spyOn(console, 'error').mockImplementation(() => undefined)
  answers = () => [403, { error: 'This account is disabled.' }]
  await auth.validateSession()
  expect([auth.authStatus.get(), local.size, notices]).toEqual(['signedOut', 0, ['Session expired. Please sign in again.']])
  expect(logged).toHaveBeenCalledWith('The session could not be validated:', 'This account is disabled.')
})

test('if a validation gets 401, the token is refreshed once and the second response counts', async () => {
  stored()
  let first = true
  answers = (path) => {
    if (path.endsWith('/refresh')) return renewed()
    const refused = first
    first = false
    return refused ? [401, { error: 'no' }] : [200, sessionAnswer]
  }
  await auth.validateSession()
  expect([auth.authStatus.get(), asked]).toEqual(['signedIn', ['/v1/session', '/v1/authorize/refresh', '/v1/session']])
})

test('logging out finishes within 5 s even if the server never answers, and other failures meanwhile show no notice', async () => {
  stored()
  auth.authStatus.set('signedIn')
  answers = () => 'never'
  const limits: number[] = []
  const timeout = AbortSignal.timeout.bind(AbortSignal)
  vi.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => {
    limits.push(ms)
    return timeout(ms / 40)
  })
  const ended: boolean[] = []
  auth.whenSessionEnds(({ explicit }) => ended.push(explicit))
  const out = auth.logOut()
  auth.sessionLost()
  expect(ended).toEqual([])
  await out
  expect(limits.every((ms) => ms <= 4_500)).toBe(true)
  expect([ended, notices, auth.authStatus.get(), local.size]).toEqual([[true], [], 'signedOut', 0])
})

test("a disabled action gives the user's role as the reason only while the user is signed in", async () => {
  stored(600, ['network:read'])
  const { allowed } = await import('./session.ts')
  expect(allowed(subnetCreate)).toEqual({ ok: false, reason: 'Your role does not include network:write' })
  local.clear()
  expect(allowed(subnetCreate)).toEqual({ ok: false, reason: 'Your session has ended. Sign in again.' })
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
  expect([auth.authStatus.get(), notices]).toEqual(['signedOut', ['Session expired. Please sign in again.']])
})

test('a failed sign-in without a message of the server shows the specified message', async () => {
  for (const [answer, said] of [
    [[502, '<html>'], 'Authentication failed'],
    [[401, { error: 'Invalid email or password' }], 'Invalid email or password'],
    [[200, {}], 'No authentication data received'],
  ] as [Answered, string][]) {
    answers = () => answer
    await expect(auth.signIn('a@example.com', 'x')).rejects.toThrow(said)
    expect(notices.at(-1)).toBe(`An unexpected error occurred: ${said}`)
  }
})

test('queries are retried once after no response, 5xx or 429, and never after a refusal', async () => {
  const { retryQuery } = await import('./query.ts')
  const { CallError } = await import('./http.ts')
  const retried = (failures: number, status: number) => retryQuery(failures, new CallError('x', { status }))
  expect([0, 429, 500, 503].map((status) => retried(0, status))).toEqual([true, true, true, true])
  expect([0, 503].map((status) => retried(1, status))).toEqual([false, false])
  expect([400, 401, 403, 404, 409, 422].map((status) => retried(0, status))).toEqual([false, false, false, false, false, false])
})
