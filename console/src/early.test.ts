// @vitest-environment happy-dom
import { readFileSync } from 'node:fs'
import { createContext, runInContext } from 'node:vm'
import { QueryClient } from '@tanstack/react-query'
import { afterEach, expect, test, vi } from 'vitest'
import { authStatus } from './api/auth.ts'
import { tokenBox } from './api/tokens.ts'
import { dropEarly, earlyCalls, takeEarly } from './lib/early.ts'

const sent: string[] = []
vi.mock('./api/client.ts', () => ({
  CallError: class extends Error {},
  call: async ({ path }: { path: string }, { query = {} }: { query?: Record<string, string> }) => {
    const search = new URLSearchParams(query).toString()
    sent.push(search === '' ? path : `${path}?${search}`)
    return { items: [] }
  },
}))

afterEach(dropEarly)

test('the calls that are sent early are those that the pages send first', async () => {
  authStatus.set('signedIn')
  const routes = {
    '/': await import('./routes/index.tsx'),
    '/infra/servers': await import('./routes/infra.servers.tsx'),
  }
  expect(Object.keys(earlyCalls)).toEqual(Object.keys(routes))
  for (const [path, { load }] of Object.entries(routes)) {
    sent.length = 0
    await load({ params: {}, search: {}, client: new QueryClient() })
    expect(sent).toEqual(earlyCalls[path])
  }
})

test('the servers page waits for its servers for at most 150 ms', async () => {
  vi.useFakeTimers()
  const { load } = await import('./routes/infra.servers.tsx')
  const began = (servers: Promise<unknown>) => {
    const client = new QueryClient()
    vi.spyOn(client, 'ensureQueryData').mockReturnValue(servers)
    const loaded = vi.fn<() => void>()
    void load({ params: {}, search: {}, client }).then(loaded)
    return loaded
  }
  const servers = Promise.withResolvers<unknown>()
  const [soon, failed, late] = [
    began(servers.promise),
    began(Promise.reject(new Error('away'))),
    began(new Promise(() => undefined)),
  ]
  await vi.advanceTimersByTimeAsync(100)
  expect([soon, failed, late].map(({ mock }) => mock.calls.length)).toEqual([0, 1, 0])
  servers.resolve({ items: [] })
  await vi.advanceTimersByTimeAsync(1)
  expect([soon, late].map(({ mock }) => mock.calls.length)).toEqual([1, 0])
  await vi.advanceTimersByTimeAsync(50)
  expect(late).toHaveBeenCalledOnce()
  vi.useRealTimers()
})

test('an early response is used once, only for the same token, and not after a change', () => {
  const response = Promise.resolve(new Response())
  Object.assign(globalThis, {
    steelyardEarly: {
      token: 'a',
      responses: { '/v1/session': response, '/v1/overview': response },
    },
  })
  expect(takeEarly('/v1/session', 'b')).toBeUndefined()
  expect(takeEarly('/v1/session', 'a')).toBe(response)
  expect(takeEarly('/v1/session', 'a')).toBeUndefined()
  dropEarly()
  expect(takeEarly('/v1/overview', 'a')).toBeUndefined()
})

const script = readFileSync('console/early.js', 'utf8')
const first = {
  visitors: ['/v.js'],
  signedIn: ['/app.js', '/app.css'],
  calls: ['/v1/session'],
  pages: { '/list': { files: ['/list.js'], calls: ['/v1/things'] } },
}

/**
 * Runs the script in a page with the given storage. Returns the files that the script preloads, the
 * API calls that it makes, and the token that it sends.
 */
function begun(
  stored: ReadonlyMap<string, string>,
  location: { pathname: string; search?: string },
  lists: object = first,
) {
  const [files, calls, tokens]: [string[], string[], Set<string>] = [[], [], new Set()]
  const types = new Set<string>()
  const theme: { theme?: string } = {}
  const fetched = (url: string, { headers }: { headers: Record<string, string> }) => {
    calls.push(url)
    tokens.add(headers['authorization']!)
    types.add(headers['content-type']!)
    return Promise.resolve()
  }
  const document = {
    cookie: 'theme=light',
    documentElement: { dataset: theme },
    currentScript: { dataset: { first: JSON.stringify(lists) } },
    createElement: () => ({}),
    head: {
      append: ({ href, rel }: { href: string; rel: string }) => files.push(`${rel} ${href}`),
    },
  }
  const localStorage = { getItem: (key: string) => stored.get(key) ?? null }
  runInContext(
    script,
    createContext({
      window: {},
      document,
      localStorage,
      location: { search: '', ...location },
      fetch: fetched,
      Date,
    }),
  )
  return { files, calls, tokens: [...tokens], types: [...types], theme: theme.theme }
}

/** Storage after a sign-in whose access token lives for the given time in seconds. */
function signedIn(lifeSeconds: number): ReadonlyMap<string, string> {
  const stored = new Map<string, string>()
  const box = tokenBox({
    getItem: (key) => stored.get(key) ?? null,
    setItem: (key, value) => stored.set(key, value),
    removeItem: (key) => stored.delete(key),
  })
  const claims = {
    sub: 'u1',
    sid: 's1',
    exp: Math.round(Date.now() / 1000) + lifeSeconds,
    scopes: [],
  }
  box.signIn(
    { id: 'u1', email: 'a@example.com', name: 'A' },
    `e30.${btoa(JSON.stringify(claims))}.sig`,
    'refresh',
    Date.now(),
  )
  return stored
}

test('with a stored session, the files of the layout and of the page are requested early, and so are the first calls of the page', () => {
  const { files, calls, tokens, types, theme } = begun(signedIn(600), { pathname: '/list' })
  expect(files).toEqual(['modulepreload /app.js', 'preload /app.css', 'modulepreload /list.js'])
  expect(calls).toEqual(['/v1/session', '/v1/things'])
  expect(tokens).toEqual([expect.stringMatching(/^Bearer e30\./)])
  expect(types).toEqual(['application/json'])
  expect(theme).toBe('light')
  expect(begun(signedIn(600), { pathname: '/list', search: '?q=a' }).calls).toEqual(['/v1/session'])
  expect(begun(signedIn(600), { pathname: '/other' }).calls).toEqual(['/v1/session'])
})

test('no call is sent early with an expired access token or without a session', () => {
  expect(begun(signedIn(-1), { pathname: '/list' })).toMatchObject({
    calls: [],
    files: ['modulepreload /app.js', 'preload /app.css', 'modulepreload /list.js'],
  })
  expect(begun(new Map(), { pathname: '/list' })).toMatchObject({
    calls: [],
    files: ['modulepreload /v.js'],
  })
  expect(begun(new Map([['steelyard.user', '{']]), { pathname: '/list' })).toMatchObject({
    calls: [],
    files: [],
    theme: 'light',
  })
})

test('no call is sent early if the API has another origin', () => {
  const elsewhere = { ...first, calls: [], pages: { '/list': { files: ['/list.js'], calls: [] } } }
  expect(begun(signedIn(600), { pathname: '/list' }, elsewhere)).toMatchObject({
    calls: [],
    files: ['modulepreload /app.js', 'preload /app.css', 'modulepreload /list.js'],
  })
})
