import { expect, test } from 'vitest'
import { auditList } from '#contract/audit.ts'
import { authorize } from '#contract/sessions.ts'
import { startBackend } from '../../testing/backend.ts'
import { delayMs } from './throttle.ts'

test('the delay doubles from 30 s to 15 min after five failures', () => {
  expect([4, 5, 6, 7, 9, 10, 50].map(delayMs)).toEqual([0, 30_000, 60_000, 120_000, 480_000, 900_000, 900_000])
})

const wrong = 'not the password'

test('after five failures the account waits, and says for how long; success clears it', async () => {
  const backend = await startBackend()
  const user = await backend.signIn()
  const attempt = (password: string, from: string) =>
    backend.call(authorize, { body: { email: user.email, password } }, { headers: { 'x-forwarded-for': from } })
  for (let i = 0; i < 5; i++) expect((await attempt(wrong, '10.0.0.1')).status).toBe(401)
  const blocked = await attempt(user.password, '10.0.0.1')
  expect(blocked.status).toBe(429)
  expect(Number(blocked.headers['retry-after'])).toBe(30)
  backend.clock.advance(30_000)
  expect((await attempt(user.password, '10.0.0.1')).status).toBe(200)
  for (let i = 0; i < 4; i++) expect((await attempt(wrong, '10.0.0.1')).status).toBe(401)
  expect((await attempt(user.password, '10.0.0.1')).status).toBe(200)
})

test('at most ten guesses in 15 minutes reach the password, however patient', async () => {
  const backend = await startBackend()
  const { email } = await backend.signIn()
  let guesses = 0
  for (let second = 0; second < 900; second += 5) {
    const { status } = await backend.call(authorize, { body: { email, password: wrong } })
    if (status === 401) guesses += 1
    backend.clock.advance(5_000)
  }
  expect(guesses).toBeLessThanOrEqual(10)
  expect(guesses).toBeGreaterThan(5)
})

test('fifty guesses at once count one by one', async () => {
  const backend = await startBackend()
  const { email } = await backend.signIn()
  const all = await Promise.all(Array.from({ length: 50 }, () => backend.call(authorize, { body: { email, password: wrong } })))
  expect(all.filter((a) => a.status === 401)).toHaveLength(5)
  expect(all.filter((a) => a.status === 429)).toHaveLength(45)
})

test('an email that nobody has is slowed down the same', async () => {
  const backend = await startBackend()
  const statuses = []
  for (let i = 0; i < 7; i++) statuses.push((await backend.call(authorize, { body: { email: 'nobody@example.com', password: wrong } })).status)
  expect(statuses).toEqual([401, 401, 401, 401, 401, 429, 429])
})

test('one address fails twenty times a minute at most; another address and account still sign in', async () => {
  const backend = await startBackend({ environment: { STEELYARD_TRUSTED_PROXIES: '127.0.0.1/32' } })
  const user = await backend.signIn()
  const attempt = (email: string, password: string, from: string) =>
    backend.call(authorize, { body: { email, password } }, { headers: { 'x-forwarded-for': from } })
  for (let i = 0; i < 20; i++) expect((await attempt(`nobody${i}@example.com`, wrong, '203.0.113.7')).status).toBe(401)
  expect((await attempt('another@example.com', wrong, '203.0.113.7')).status).toBe(429)
  expect((await attempt(user.email, user.password, '203.0.113.8')).status).toBe(200)
  backend.clock.advance(60_000)
  expect((await attempt('another@example.com', wrong, '203.0.113.7')).status).toBe(401)
})

test('one address is a whole /64 in IPv6', async () => {
  const backend = await startBackend({ environment: { STEELYARD_TRUSTED_PROXIES: '127.0.0.1/32' } })
  const attempt = (n: number, network: string) =>
    backend.call(
      authorize,
      { body: { email: `nobody${n}@example.com`, password: wrong } },
      { headers: { 'x-forwarded-for': `${network}::${(n + 1).toString(16)}` } },
    )
  for (let n = 0; n < 20; n++) expect((await attempt(n, '2001:db8:0:1')).status).toBe(401)
  expect((await attempt(20, '2001:db8:0:1')).status).toBe(429)
  expect((await attempt(21, '2001:db8:0:2')).status).toBe(401)
})

test('tries that are refused unseen do not fill the audit log, and are counted', async () => {
  const backend = await startBackend()
  const admin = await backend.signIn()
  const { email } = await backend.signIn()
  const attempt = () => backend.call(authorize, { body: { email, password: wrong } })
  for (let n = 0; n < 5; n++) await attempt()
  for (let n = 0; n < 60; n++) expect((await attempt()).status).toBe(429)
  backend.clock.advance(61_000)
  expect((await attempt()).status).toBe(401)
  expect((await attempt()).status).toBe(429)
  await backend.publish()
  const { items } = (await admin.call(auditList, { query: { action: 'session.refused', per_page: 1000 } })).answer!
  expect(items.filter((entry) => entry.result === 'invalid_credentials')).toHaveLength(6)
  expect(items.filter((entry) => entry.result === 'throttled').map((entry) => entry.after)).toEqual([{ tries_not_listed: 59 }, { tries_not_listed: 0 }])
})

test('who is no trusted proxy can not choose an address', async () => {
  const backend = await startBackend()
  const statuses = []
  for (let i = 0; i < 21; i++)
    statuses.push(
      (await backend.call(authorize, { body: { email: `nobody${i}@example.com`, password: wrong } }, { headers: { 'x-forwarded-for': `203.0.113.${i}` } }))
        .status,
    )
  expect(statuses.at(-1)).toBe(429)
})
