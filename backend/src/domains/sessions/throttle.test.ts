import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { auditList } from '#contract/audit.ts'
import { authorize } from '#contract/sessions.ts'
import { type Backend, startBackend } from '../../testing/backend.ts'
import { delayMs, throttle } from './throttle.ts'

test('the fifth failure causes a delay of 30 s, and each further failure doubles the delay, up to 15 min', () => {
  expect([4, 5, 6, 7, 9, 10, 50].map(delayMs)).toEqual([
    0, 30_000, 60_000, 120_000, 480_000, 900_000, 900_000,
  ])
})

const wrong = 'not the password'
/** The backends of the file: the throttle keeps everything in the database, and forgets it here. */
const behindProxy = await startBackend({
  environment: { STEELYARD_TRUSTED_PROXIES: '127.0.0.1/32' },
})
const direct = await startBackend()
const unthrottled = async (backend: Backend): Promise<Backend> => {
  await sql`delete from sign_in_failure`.execute(backend.platform.db)
  return backend
}
const proxied = () => unthrottled(behindProxy)

/** The throttle uses the database's time, so recorded failures are made older. */
const passes = (backend: Backend, ms: number) =>
  sql`update sign_in_failure set at = at - ${ms} * interval '1 millisecond'`.execute(
    backend.platform.db,
  )

const cookieOf = (header: string | string[] | undefined): string =>
  [header].flat()[0]!.split(';')[0]!

const tries =
  (backend: Backend) =>
  (email: string, password: string, from: string, cookie?: string): ReturnType<Backend['call']> =>
    backend.call(
      authorize,
      { body: { email, password } },
      { headers: { 'x-forwarded-for': from, ...(cookie !== undefined && { cookie }) } },
    )

test('an address that fails to sign in to an account five times gets 429 with Retry-After for that account; a later sign-in clears the failures', async () => {
  const backend = await proxied()
  const { email, password } = await backend.signIn()
  const attempt = tries(backend)
  for (let i = 0; i < 5; i++) expect((await attempt(email, wrong, '10.0.0.1')).status).toBe(401)
  const blocked = await attempt(email, password, '10.0.0.1')
  expect(blocked.status).toBe(429)
  expect(Number(blocked.headers['retry-after'])).toBeGreaterThan(25)
  expect(Number(blocked.headers['retry-after'])).toBeLessThanOrEqual(30)
  await passes(backend, 30_000)
  expect((await attempt(email, password, '10.0.0.1')).status).toBe(200)
  for (let i = 0; i < 4; i++) expect((await attempt(email, wrong, '10.0.0.1')).status).toBe(401)
  expect((await attempt(email, password, '10.0.0.1')).status).toBe(200)
})

test('a sign-in is not refused when the stored time of the previous attempt is slightly in the future', async () => {
  const backend = await unthrottled(direct)
  const { db } = backend.platform
  await sql`insert into sign_in_failure (email, source, at) values ('a@example.com', 's', clock_timestamp() + interval '900 milliseconds')`.execute(
    db,
  )
  expect(await throttle({ db }).begin('a@example.com', 's')).toMatchObject({ waitMs: 0 })
})

test("failures from other addresses don't lock a user out", async () => {
  const backend = await proxied()
  const { email, password } = await backend.signIn()
  const attempt = tries(backend)
  for (let n = 0; n < 12; n++) await attempt(email, wrong, `10.0.1.${n % 2}`)
  expect((await attempt(email, wrong, '10.0.1.1')).status).toBe(429)
  expect((await attempt(email, password, '10.0.0.1')).status).toBe(200)
})

test('a known device is slowed down by its own failures, not by those of others at its address', async () => {
  const backend = await proxied()
  const { email, password } = await backend.signIn()
  const attempt = tries(backend)
  const signedIn = await attempt(email, password, '10.0.0.1')
  expect(signedIn.headers['set-cookie']).toMatch(
    /^steelyard_device=[\w-]{22}\.[\w-]{43}; Path=\/v1\/authorize; Max-Age=15552000; HttpOnly; SameSite=Strict$/,
  )
  const cookie = cookieOf(signedIn.headers['set-cookie'])
  for (let n = 0; n < 20; n++) await attempt(`nobody${n}@example.com`, wrong, '10.0.0.1')
  for (let n = 0; n < 6; n++) await attempt(email, wrong, '10.0.0.1')
  expect((await attempt(email, password, '10.0.0.1')).status).toBe(429)
  expect((await attempt(email, password, '10.0.0.1', cookie)).status).toBe(200)
  for (let n = 0; n < 5; n++)
    expect((await attempt(email, wrong, '10.0.0.9', cookie)).status).toBe(401)
  expect((await attempt(email, password, '10.0.0.9', cookie)).status).toBe(429)
})

test('a device is known only for accounts that have signed in on it, and a forged cookie is ignored', async () => {
  const backend = await proxied()
  const [a, b] = [await backend.signIn(), await backend.signIn()]
  const attempt = tries(backend)
  const ofA = cookieOf((await attempt(a.email, a.password, '10.0.0.1')).headers['set-cookie'])
  const both = cookieOf((await attempt(b.email, b.password, '10.0.0.1', ofA)).headers['set-cookie'])
  expect(both.split('~')).toHaveLength(2)
  for (const { email } of [a, b])
    for (let n = 0; n < 5; n++) await attempt(email, wrong, '10.0.0.1')
  const changed = ofA.slice(0, -2) + (ofA.endsWith('AA') ? 'BB' : 'AA')
  const made = `steelyard_device=${'A'.repeat(22)}.${'A'.repeat(43)}`
  for (const cookie of [
    changed,
    made,
    'steelyard_device=',
    `steelyard_device=${'~'.repeat(3000)}`,
    '; ;=',
    ofA.replace('steelyard', 'x'),
  ])
    expect((await attempt(a.email, a.password, '10.0.0.1', cookie)).status).toBe(429)
  // The device is known to another account only.
  expect((await attempt(b.email, b.password, '10.0.0.1', ofA)).status).toBe(429)
  for (const { email, password } of [a, b])
    expect((await attempt(email, password, '10.0.0.1', `other=1; ${both}`)).status).toBe(200)
})

test('over HTTPS the device cookie has the prefix __Secure- and is marked Secure, and one from before counts until it is replaced', async () => {
  const backend = await proxied()
  const { email, password } = await backend.signIn()
  const attempt = tries(backend)
  const before = cookieOf((await attempt(email, password, '10.0.0.1')).headers['set-cookie'])
  const overHttps = (secret: string, cookie?: string) =>
    backend.call(
      authorize,
      { body: { email, password: secret } },
      {
        headers: {
          'x-forwarded-for': '10.0.0.1',
          'x-forwarded-proto': 'https',
          ...(cookie !== undefined && { cookie }),
        },
      },
    )
  const { headers } = await overHttps(password)
  expect(headers['set-cookie']).toMatch(
    /^__Secure-steelyard_device=[\w-]{22}\.[\w-]{43}; Path=.*; Secure$/,
  )
  for (let n = 0; n < 6; n++) await overHttps(wrong)
  expect((await overHttps(password)).status).toBe(429)
  const replaced = await overHttps(password, before)
  expect([replaced.status, cookieOf(replaced.headers['set-cookie'])]).toEqual([
    200,
    `__Secure-${before}`,
  ])
  for (let n = 0; n < 6; n++) await overHttps(wrong)
  // The cookie that only HTTPS can set comes first.
  expect(
    (await overHttps(password, `steelyard_device=forged; ${cookieOf(headers['set-cookie'])}`))
      .status,
  ).toBe(200)
})

test('behind an unknown proxy, the public URL says that browsers use HTTPS', async () => {
  const backend = await startBackend({
    environment: { STEELYARD_PUBLIC_URL: 'https://steelyard.example.com' },
  })
  const { email, password } = await backend.signIn()
  const { headers } = await backend.call(authorize, { body: { email, password } })
  expect(headers['set-cookie']).toMatch(/^__Secure-steelyard_device=.*; Secure$/)
})

test('at most ten guesses from one address are checked in 15 minutes', async () => {
  const backend = await unthrottled(direct)
  const { begin } = throttle({ db: backend.platform.db })
  let guesses = 0
  for (let second = 0; second < 900; second += 10) {
    const { waitMs } = await begin('attacked@example.com', '192.0.2.1')
    if (waitMs === 0) guesses += 1
    await passes(backend, 10_000)
  }
  expect(guesses).toBeLessThanOrEqual(10)
  expect(guesses).toBeGreaterThan(5)
})

test('fifty concurrent guesses are counted one by one', async () => {
  const backend = await unthrottled(direct)
  const { email } = await backend.signIn()
  const all = await Promise.all(
    Array.from({ length: 50 }, () => backend.call(authorize, { body: { email, password: wrong } })),
  )
  expect(all.filter((a) => a.status === 401)).toHaveLength(5)
  expect(all.filter((a) => a.status === 429)).toHaveLength(45)
})

test('sign-ins with an unknown email are slowed down like those with a known one', async () => {
  const backend = await unthrottled(direct)
  const statuses = []
  for (let i = 0; i < 7; i++)
    statuses.push(
      (await backend.call(authorize, { body: { email: 'nobody@example.com', password: wrong } }))
        .status,
    )
  expect(statuses).toEqual([401, 401, 401, 401, 401, 429, 429])
})

test('an address may fail twenty times a minute; users at other addresses can still sign in', async () => {
  const backend = await proxied()
  const user = await backend.signIn()
  const attempt = tries(backend)
  for (let i = 0; i < 20; i++)
    expect((await attempt(`nobody${i}@example.com`, wrong, '203.0.113.7')).status).toBe(401)
  expect((await attempt('another@example.com', wrong, '203.0.113.7')).status).toBe(429)
  expect((await attempt(user.email, user.password, '203.0.113.8')).status).toBe(200)
  await passes(backend, 60_000)
  expect((await attempt('another@example.com', wrong, '203.0.113.7')).status).toBe(401)
})

test('an IPv6 /64 counts as one address', async () => {
  const backend = await proxied()
  const attempt = (n: number, network: string) =>
    tries(backend)(`nobody${n}@example.com`, wrong, `${network}::${(n + 1).toString(16)}`)
  for (let n = 0; n < 20; n++) expect((await attempt(n, '2001:db8:0:1')).status).toBe(401)
  expect((await attempt(20, '2001:db8:0:1')).status).toBe(429)
  expect((await attempt(21, '2001:db8:0:2')).status).toBe(401)
})

test('throttled sign-ins are counted without filling the audit log', async () => {
  const backend = await startBackend()
  const { email } = await backend.signIn()
  const attempt = () => backend.call(authorize, { body: { email, password: wrong } })
  for (let n = 0; n < 5; n++) await attempt()
  const firstAt = new Date(backend.clock.now()).toISOString()
  for (let n = 0; n < 60; n++) expect((await attempt()).status).toBe(429)
  backend.clock.advance(61_000)
  await passes(backend, 61_000)
  expect((await attempt()).status).toBe(401)
  expect((await attempt()).status).toBe(429)
  const lastAt = new Date(backend.clock.now()).toISOString()
  backend.clock.advance(10 * 60_000)
  // The access token has expired.
  const reader = await backend.signIn()
  const listed = async (result: string) => {
    await backend.publish()
    const { items } = (
      await reader.call(auditList, { query: { action: 'session.refused', per_page: 200 } })
    ).answer!
    return items.filter((entry) => entry.result === result)
  }
  await expect.poll(async () => (await listed('throttled')).length).toBe(2)
  expect(await listed('invalid_credentials')).toHaveLength(6)
  // The newest entry is first: of the 61 throttled tries, the first one has an entry of its own.
  expect((await listed('throttled')).map((entry) => entry.after)).toEqual([
    { count: 60, first_at: firstAt, last_at: lastAt, addresses: 1 },
    null,
  ])
})

test('only a trusted proxy can set the address of a client', async () => {
  const backend = await unthrottled(direct)
  const statuses = []
  for (let i = 0; i < 21; i++)
    statuses.push((await tries(backend)(`nobody${i}@example.com`, wrong, `203.0.113.${i}`)).status)
  expect(statuses.at(-1)).toBe(429)
})

const day = 86_400_000
test.each([
  ['ahead', day],
  ['behind', -day],
])('if the clock of a process jumps a day %s, nobody is locked out', async (_word, ms) => {
  const backend = await proxied()
  const { email, password } = await backend.signIn()
  const attempt = tries(backend)
  for (let n = 0; n < 5; n++) await attempt(email, wrong, '10.0.0.1')
  backend.clock.advance(ms)
  const blocked = await attempt(email, password, '10.0.0.1')
  expect(blocked.status).toBe(429)
  expect(Number(blocked.headers['retry-after'])).toBeLessThanOrEqual(30)
  for (let n = 0; n < 5; n++) await attempt(email, wrong, '10.0.0.2')
  backend.clock.advance(-ms)
  await passes(backend, 30_000)
  for (const from of ['10.0.0.1', '10.0.0.2'])
    expect((await attempt(email, password, from)).status).toBe(200)
})

test('failures recorded by a clock a day ahead are ignored and removed', async () => {
  const backend = await proxied()
  const { email, password } = await backend.signIn()
  const attempt = tries(backend)
  for (let n = 0; n < 20; n++)
    await attempt(n < 8 ? email : `nobody${n}@example.com`, wrong, '10.0.0.1')
  // The clock of the database's machine is corrected.
  await passes(backend, -day)
  expect((await attempt(email, password, '10.0.0.1')).status).toBe(200)
  await throttle({ db: backend.platform.db }).removeOld()
  expect(await backend.platform.db.selectFrom('sign_in_failure').selectAll().execute()).toEqual([])
})
