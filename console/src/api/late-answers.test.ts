/**
 * Answers that arrive after the session that asked has ended: they must not reach the next session.
 */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { serverList } from '#contract/servers/servers.ts'
import type * as authModule from './auth.ts'
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

/** A stand-in for the browser's Storage, with only the methods that the tested code uses. */
class Kept extends Map<string, string> {
  getItem = (key: string) => this.get(key) ?? null
  setItem = (key: string, value: string) => void this.set(key, value)
  removeItem = (key: string) => void this.delete(key)
}
const local = new Kept()
const box = tokenBox(local)
const admin = { id: 'admin', email: 'admin@example.com', name: 'Admin' }
const viewer = { id: 'viewer', email: 'viewer@example.com', name: 'Viewer' }
const access = ({ id }: { id: string }, name: string, lifeSeconds = 600) => {
  const iat = Math.floor(Date.now() / 1000)
  return `e30.${btoa(JSON.stringify({ sub: id, sid: `session of ${id}`, iat, exp: iat + lifeSeconds, scopes: [], name }))}.sig`
}
const signedIn = (who: typeof admin, name = 'first') => ({
  userData: who,
  accessToken: access(who, name),
  refreshToken: `refresh token of ${who.id}`,
})
/** Signs in as another tab does: into the same storage. */
const signInElsewhere = (who: typeof admin, lifeSeconds = 600) =>
  box.signIn(who, access(who, 'first', lifeSeconds), `refresh token of ${who.id}`, Date.now())
const signOutElsewhere = () => local.clear()

interface Request {
  path: string
  method: string
  body: string
  bearer: string | undefined
  /** Answers the request. Without a status, the connection is cut. */
  answer: (status?: number, body?: unknown) => void
}
let requests: Request[]
let arrived: () => void
/** The next request to `path` that has not been waited for. */
async function request(path: string): Promise<Request> {
  for (;;) {
    const at = requests.findIndex((one) => one.path === path)
    if (at >= 0) return requests.splice(at, 1)[0]!
    await new Promise<void>((resolve) => (arrived = resolve))
  }
}
let server: Server
let auth: typeof authModule
let window: EventTarget
const storageEvent = (key: string | null) =>
  window.dispatchEvent(Object.assign(new Event('storage'), { key }))

beforeAll(async () => {
  server = createServer((asked, response) => {
    let body = ''
    asked.setEncoding('utf8').on('data', (text: string) => (body += text))
    asked.on('end', () => {
      const answer = (status?: number, sent?: unknown) =>
        status === undefined
          ? void asked.socket.destroy()
          : void response
              .writeHead(status, { 'content-type': 'application/json' })
              .end(JSON.stringify(sent))
      requests.push({
        path: asked.url!,
        method: asked.method!,
        body,
        bearer: asked.headers.authorization,
        answer,
      })
      arrived()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  vi.stubEnv('VITE_API_URL', `http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  vi.stubGlobal('localStorage', local)
  vi.stubGlobal('sessionStorage', new Kept())
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})
beforeEach(async () => {
  local.clear()
  notices.splice(0)
  requests = []
  arrived = () => undefined
  window = new EventTarget()
  vi.stubGlobal('window', window)
  vi.resetModules()
})
/** Loads the page: the tab's session is the stored one. */
async function openPage(): Promise<void> {
  auth = await import('./auth.ts')
  auth.authStatus.set('signedIn')
}

const refreshPath = '/v1/authorize/refresh'
const logoutPath = '/v1/authorize/logout'
const failure = async (promise: Promise<unknown>): Promise<string> =>
  promise.then(String, (error: unknown) => (error as Error).message)
const changed = 'The session in this browser has changed. Nothing was taken over from the old one.'
/** The storage as it is after a sign-in of the viewer. */
function ofViewer(): [string, string][] {
  const own = new Kept()
  for (const [key, value] of local) own.set(key, value)
  return [...own]
}

test('the late answer of a refresh is dropped if another user has signed in in another tab, and its tokens are revoked', async () => {
  signInElsewhere(admin, 0)
  await openPage()
  const { call } = await import('./client.ts')
  const late = failure(call(serverList))
  const refresh = await request(refreshPath)
  signOutElsewhere()
  signInElsewhere(viewer)
  const before = ofViewer()
  refresh.answer(200, {
    access_token: access(admin, 'second'),
    refresh_token: 'second refresh token of admin',
  })
  expect(await late).toBe(changed)
  expect([...local]).toEqual(before)
  const revoked = await request(logoutPath)
  expect(JSON.parse(revoked.body)).toEqual({ refresh_token: 'second refresh token of admin' })
  revoked.answer(204)
  expect([notices, requests]).toEqual([[], []])
})

test('the late answer of a refresh is dropped if the user has signed out in this tab, and another signs in; the new session needs no answer of the old one', async () => {
  signInElsewhere(admin, 0)
  await openPage()
  const { call } = await import('./client.ts')
  const late = failure(call(serverList))
  const refresh = await request(refreshPath)
  const out = auth.logOut()
  // The sign-out is lost.
  ;(await request(logoutPath)).answer()
  await out
  expect(local.size).toBe(0)
  const again = await request(logoutPath)
  const into = auth.signIn(viewer.email, 'x')
  ;(await request('/v1/authorize')).answer(200, {
    ...signedIn(viewer),
    accessToken: access(viewer, 'first', 0),
  })
  await into
  // The viewer's own refresh doesn't wait for the admin's.
  const own = call(serverList)
  // A token has the second in which it is made.
  const access_token = access(viewer, 'second')
  ;(await request(refreshPath)).answer(200, {
    access_token,
    refresh_token: 'second refresh token of viewer',
  })
  const list = await request('/v1/nodes')
  expect(list.bearer).toBe(`Bearer ${access_token}`)
  list.answer(200, { items: [] })
  expect(await own).toEqual({ items: [] })
  const before = ofViewer()
  refresh.answer(200, {
    access_token: access(admin, 'second'),
    refresh_token: 'second refresh token of admin',
  })
  expect(await late).toBe(changed)
  expect([...local]).toEqual(before)
  // The lost sign-out is sent again, and the tokens of the late answer are revoked.
  expect(JSON.parse(again.body)).toEqual({ refresh_token: 'refresh token of admin' })
  again.answer(204)
  const revoked = await request(logoutPath)
  expect(JSON.parse(revoked.body)).toEqual({ refresh_token: 'second refresh token of admin' })
  revoked.answer(204)
  expect(auth.authStatus.get()).toBe('signedIn')
})

test.each([401, 403])(
  'the late refusal %s of a refresh does not end the session of the user who has signed in since',
  async (status) => {
    signInElsewhere(admin, 0)
    await openPage()
    const { call } = await import('./client.ts')
    const late = failure(call(serverList))
    const refresh = await request(refreshPath)
    signOutElsewhere()
    signInElsewhere(viewer)
    const before = ofViewer()
    refresh.answer(status, { error: 'No.' })
    expect(await late).toBe('No.')
    expect([[...local], notices]).toEqual([before, []])
  },
)

test('the late answer of a call is not shown to the user who has signed in since, and a late refusal only says so', async () => {
  signInElsewhere(admin)
  await openPage()
  const { call } = await import('./client.ts')
  const { query, queryClient } = await import('./query.ts')
  const shown = failure(queryClient.fetchQuery(query(serverList)))
  const [answered, refused] = [failure(call(serverList)), failure(call(serverList))]
  const [one, two, three] = [
    await request('/v1/nodes'),
    await request('/v1/nodes'),
    await request('/v1/nodes'),
  ]
  signOutElsewhere()
  signInElsewhere(viewer)
  const before = ofViewer()
  one.answer(200, { items: ['secret'] })
  two.answer(200, { items: ['secret'] })
  three.answer(401, { error: 'No.' })
  expect([await shown, await answered, await refused].toSorted()).toEqual(
    [changed, changed, 'Cannot retry request'].toSorted(),
  )
  expect(queryClient.getQueryData(query(serverList).queryKey)).toBeUndefined()
  expect([[...local], notices, requests]).toEqual([before, ['Cannot retry request'], []])
})

test('a late refusal says nothing to the user who has signed in in this tab since', async () => {
  signInElsewhere(admin)
  await openPage()
  const { call } = await import('./client.ts')
  const late = failure(call(serverList))
  const list = await request('/v1/nodes')
  const out = auth.logOut()
  ;(await request(logoutPath)).answer(204)
  await out
  const into = auth.signIn(viewer.email, 'x')
  ;(await request('/v1/authorize')).answer(200, {
    ...signedIn(viewer),
    accessToken: access(viewer, 'first'),
  })
  await into
  list.answer(401, { error: 'No.' })
  expect(await late).toBe('Cannot retry request')
  expect(notices).toEqual([])
})

test.each<[string, number, unknown]>([
  ['answer', 200, { user: admin, scopes: [], expiresAt: new Date().toISOString() }],
  ['refusal', 403, { error: 'This account is disabled.' }],
])(
  'the late %s of a validation does not concern the user who has signed in since',
  async (_, status, body) => {
    signInElsewhere(admin)
    await openPage()
    auth.authStatus.set('loading')
    const ends: unknown[] = []
    auth.whenSessionEnds((how) => ends.push(how))
    const validated = auth.validateSession()
    const asked = await request('/v1/session')
    signOutElsewhere()
    signInElsewhere(viewer)
    const before = ofViewer()
    asked.answer(status, body)
    await validated
    expect([[...local], notices]).toEqual([before, []])
    // What was loaded for the admin while the session was validated must not stay.
    expect(ends).toEqual([{ explicit: true, replaced: true }])
  },
)

test('the late answer of a sign-in is dropped and revoked if another user has signed in in another tab', async () => {
  await openPage()
  auth.authStatus.set('signedOut')
  const late = failure(auth.signIn(admin.email, 'x'))
  const asked = await request('/v1/authorize')
  signInElsewhere(viewer)
  const before = ofViewer()
  asked.answer(200, signedIn(admin))
  expect(await late).toBe(changed)
  expect([...local]).toEqual(before)
  const revoked = await request(logoutPath)
  expect(JSON.parse(revoked.body)).toEqual({ refresh_token: 'refresh token of admin' })
  revoked.answer(204)
})

test('a sign-in over the session of another user ends that session, and none of its tokens stays', async () => {
  signInElsewhere(admin)
  await openPage()
  const ends: unknown[] = []
  auth.whenSessionEnds((how) => ends.push(how))
  const into = auth.signIn(viewer.email, 'x')
  ;(await request('/v1/authorize')).answer(200, signedIn(viewer))
  await into
  expect([...local].filter(([key, value]) => (key + value).includes('admin'))).toEqual([])
  expect([box.user(), auth.authStatus.get(), ends]).toEqual([
    viewer,
    'signedIn',
    [{ explicit: true }],
  ])
  const revoked = await request(logoutPath)
  expect(JSON.parse(revoked.body)).toEqual({ refresh_token: 'refresh token of admin' })
  revoked.answer(204)
})

test.each([null, 'steelyard.user'])(
  'a tab drops what it shows when another user has signed in in another tab, even if it learns of it late (key %s)',
  async (key) => {
    signInElsewhere(admin)
    await openPage()
    const { query, queryClient } = await import('./query.ts')
    queryClient.setQueryData(query(serverList).queryKey, { items: ['secret'] } as never)
    const ends: unknown[] = []
    auth.whenSessionEnds((how) => ends.push(how))
    signOutElsewhere()
    signInElsewhere(viewer)
    const before = ofViewer()
    storageEvent(key)
    expect(queryClient.getQueryData(query(serverList).queryKey)).toBeUndefined()
    expect([ends, auth.authStatus.get()]).toEqual([
      [{ explicit: true, replaced: true }],
      'signedOut',
    ])
    expect([[...local], notices]).toEqual([before, []])
  },
)

test('a call of a page that still shows another user is not sent in the name of the one who has signed in since', async () => {
  signInElsewhere(admin)
  await openPage()
  const { call } = await import('./client.ts')
  signOutElsewhere()
  signInElsewhere(viewer)
  expect(await failure(call(serverList))).toBe(changed)
  expect([requests, auth.authStatus.get()]).toEqual([[], 'signedOut'])
})

test('a slow Log out does not end the session that has begun in another tab meanwhile', async () => {
  signInElsewhere(admin)
  await openPage()
  const out = auth.logOut()
  const asked = await request(logoutPath)
  signOutElsewhere()
  signInElsewhere(viewer)
  const before = ofViewer()
  asked.answer(204)
  await out
  expect([...local]).toEqual(before)
})

test('a Log out whose response has cleared the storage counts as one, so that the next user does not come to the previous page', async () => {
  signInElsewhere(admin)
  await openPage()
  const ends: unknown[] = []
  auth.whenSessionEnds((how) => ends.push(how))
  const out = auth.logOut()
  const asked = await request(logoutPath)
  local.clear()
  asked.answer(204)
  await out
  expect([ends, auth.wasLoggedOut(), notices]).toEqual([[{ explicit: true }], true, []])
})

test('a change of preferences that waits when the user signs out is not saved for the next user', async () => {
  signInElsewhere(admin)
  await openPage()
  const { setPreferences } = await import('./preferences.ts')
  setPreferences((now) => ({ ...now, theme: 'light' }))
  setPreferences((now) => ({ ...now, columns: { servers: ['name'] } }))
  const read = await request('/v1/session/preferences')
  expect(read.method).toBe('GET')
  signOutElsewhere()
  signInElsewhere(viewer)
  storageEvent(null)
  read.answer(200, {})
  // A change of the viewer runs after the admin's.
  setPreferences((now) => ({ ...now, theme: 'dark' }))
  ;(await request('/v1/session/preferences')).answer(200, {})
  const written = await request('/v1/session/preferences')
  expect([written.method, JSON.parse(written.body)]).toEqual(['PUT', { theme: 'dark' }])
  written.answer(200, { theme: 'dark' })
  expect(notices).toEqual([])
})
