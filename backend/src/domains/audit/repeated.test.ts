import { expect, test } from 'vitest'
import { auditList } from '#contract/audit.ts'
import { Problem } from '#contract/errors.ts'
import { joinPath } from '#contract/join-tokens.ts'
import { waitlistJoin, waitlistList } from '#contract/people/invitations.ts'
import { authorizePasskeyBegin } from '#contract/people/passkeys.ts'
import { authorize } from '#contract/sessions.ts'
import { longTests } from '../../../../tools/testing/length.ts'
import { type Backend, type SignedIn, startBackend } from '../../testing/backend.ts'

const wrong = 'not the password'
/** The attacker's addresses differ in each request. */
let addresses = 0
const fresh = () => ({
  headers: {
    'x-forwarded-for': `10.${(++addresses >> 16) & 255}.${(addresses >> 8) & 255}.${addresses & 255}`,
  },
})
const userAt = { headers: { 'x-forwarded-for': '192.0.2.1' } }
const proxied = () =>
  startBackend({
    environment: {
      STEELYARD_TRUSTED_PROXIES: '127.0.0.1/32',
      STEELYARD_PUBLIC_URL: 'http://localhost',
    },
  })

const rows = async (
  { platform: { db } }: Backend,
  table: 'audit_entry' | 'waitlist_entry' | 'sign_in_challenge',
): Promise<number> =>
  Number(
    (
      await db
        .selectFrom(table)
        .select((e) => e.fn.countAll<string>().as('n'))
        .executeTakeFirstOrThrow()
    ).n,
  )

async function audited(backend: Backend, admin: SignedIn, action: string) {
  await backend.publish()
  return (await admin.call(auditList, { query: { action, per_page: 200 } })).answer!.items
}
const countOf = (entries: readonly { after: Record<string, unknown> | null }[]): number =>
  entries.reduce((n, { after }) => n + Number(after?.['count'] ?? 1), 0)

/** Many calls, some at a time. */
async function many(count: number, act: (n: number) => Promise<unknown>): Promise<void> {
  for (let n = 0; n < count; n += 50)
    await Promise.all(Array.from({ length: Math.min(50, count - n) }, (_, i) => act(n + i)))
}

test('thousands of wrong passwords leave few audit entries, which say how many they were and when', async () => {
  const backend = await proxied()
  const [admin, attacked, other] = [
    await backend.signIn(),
    await backend.signIn(),
    await backend.signIn(),
  ]
  // The same as after a wrong password, without the hash, which takes thousands of guesses some
  // minutes.
  const { refused } = backend.domains.sessions
  const problem = new Problem('invalid_credentials', 'Invalid email or password')
  const guess = async (person: { id: string; email: string } | undefined) => {
    const ip = fresh().headers['x-forwarded-for']
    await refused({ kind: 'anonymous', ip, requestId: ip }, problem, { person, ip })
  }
  const victim = { id: attacked.userId, email: attacked.email }
  const began = new Date(backend.clock.now()).toISOString()
  await many(5_000, (n) => guess(n % 2 === 0 ? victim : undefined))
  backend.clock.advance(60_000)
  await guess(victim)
  const ended = new Date(backend.clock.now()).toISOString()
  // Somebody else's mistake during the attack has an entry of its own.
  expect(
    (await backend.call(authorize, { body: { email: other.email, password: wrong } }, userAt))
      .status,
  ).toBe(401)
  const mistake = (await audited(backend, admin, 'session.refused')).filter(
    ({ target }) => target?.id === other.userId,
  )
  expect(mistake).toMatchObject([{ ip: '192.0.2.1', result: 'invalid_credentials', after: null }])

  backend.clock.advance(10 * 60_000)
  // The access token has expired.
  const reader = await backend.signIn()
  await expect
    .poll(async () => countOf(await audited(backend, reader, 'session.refused')))
    .toBe(5_002)
  const entries = await audited(backend, reader, 'session.refused')
  const about = (id: string) => entries.filter(({ target }) => target?.id === id)
  expect(about(attacked.userId)).toHaveLength(11)
  expect(about(attacked.userId)[0]!.after).toEqual({
    count: 2_491,
    first_at: began,
    last_at: ended,
    addresses: '1000 or more',
  })
  // Sixty addresses have entries of their own, and the others one together.
  expect(about('unknown')).toHaveLength(61)
  expect(countOf(about('unknown'))).toBe(2_500)
})

test('thousands of refused announcements leave a bounded number of audit entries in an hour', async () => {
  const backend = await proxied()
  // Either way many times what may remain.
  const perMinute = longTests ? 200 : 50
  await many(60 * perMinute, async (n) => {
    if (n % perMinute === 0) backend.clock.advance(60_000)
    await backend.app.inject({ url: `${joinPath}guess-${n}`, ...fresh() })
  })
  backend.clock.advance(60_000)
  await backend.app.close()
  await backend.publish()
  // 250 at first, 60 an hour, and one for the others of each minute.
  const entries = await backend.platform.db
    .selectFrom('audit_entry')
    .select('after')
    .where('action', '=', 'join.refused')
    .execute()
  expect(entries.length).toBeLessThanOrEqual(250 + 60 + 61)
  expect(countOf(entries as { after: Record<string, unknown> | null }[])).toBe(60 * perMinute)
})

test('thousands of requests for the waitlist leave a bounded number of entries, and somebody who comes back after the told time is listed', async () => {
  const backend = await proxied()
  const admin = await backend.signIn()
  const join = (name: string, from = fresh()) =>
    backend.call(waitlistJoin, { body: { name, company: '', email: `${name}@example.com` } }, from)
  const before = await rows(backend, 'audit_entry')
  // More than a hundred are refused either way, and none of them has an entry of its own.
  const [first, later] = longTests ? [2_000, 1_000] : [600, 400]
  await many(first, (n) => join(`bot${n}`))
  const refused = await join('ada', userAt)
  expect([refused.status, refused.problem?.code]).toEqual([429, 'throttled'])
  const waitMs = Number(refused.headers['retry-after']) * 1000
  expect(waitMs).toBeLessThanOrEqual(60_000)
  backend.clock.advance(waitMs)
  await many(later, (n) => join(`bot${first + n}`))
  expect((await join('ada', userAt)).status).toBe(204)
  const { items, total } = (await admin.call(waitlistList, { query: { q: 'ada' } })).answer!
  expect([total, items[0]!.email]).toEqual([1, 'ada@example.com'])
  expect(await rows(backend, 'waitlist_entry')).toBeLessThanOrEqual(103)

  backend.clock.advance(3600_000)
  const reader = await backend.signIn()
  await expect
    .poll(async () => countOf(await audited(backend, reader, 'waitlist.refused')))
    .toBe(first - 100 + 1 + later - 1)
  expect(await audited(backend, reader, 'waitlist.refused')).toHaveLength(2)
  expect((await rows(backend, 'audit_entry')) - before).toBeLessThan(120)
})

test('thousands of sign-ins that are begun with a passkey leave a bounded number of challenges, and somebody who comes back can begin one', async () => {
  const backend = await proxied()
  const begin = (from = fresh()) => backend.call(authorizePasskeyBegin, {}, from)
  const first = longTests ? 2_000 : 800
  await many(first, () => begin())
  expect(await rows(backend, 'sign_in_challenge')).toBe(500)
  const refused = await begin(userAt)
  expect(refused.status).toBe(429)
  backend.clock.advance(Number(refused.headers['retry-after']) * 1000)
  await many(100, () => begin())
  expect((await begin(userAt)).status).toBe(200)
  // A new challenge removes some that have expired.
  backend.clock.advance(10 * 60_000)
  await many(150, () => begin())
  expect(await rows(backend, 'sign_in_challenge')).toBe(150)
  const reader = await backend.signIn()
  await expect
    .poll(async () => countOf(await audited(backend, reader, 'session.refused')))
    .toBeGreaterThan(first - 500)
  expect((await audited(backend, reader, 'session.refused')).length).toBeLessThan(65)
})
