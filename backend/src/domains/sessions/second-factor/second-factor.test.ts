import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { auditList } from '#contract/audit.ts'
import { eventStream } from '#contract/events.ts'
import { profileGet } from '#contract/people/profile.ts'
import {
  recoveryCodesRenew,
  totpBegin,
  totpConfirm,
  totpRemove,
} from '#contract/people/second-factor.ts'
import { serverList } from '#contract/servers/servers.ts'
import { authorize, authorizeRefresh, sessionGet } from '#contract/sessions.ts'
import { userList, userResetSecondFactor, userUnlock, userUpdate } from '#contract/users.ts'
import { type Backend, type SignedIn, startBackend } from '../../../testing/backend.ts'
import { codeOf } from '../testing/authenticator.ts'

const backend = await startBackend()
/** A new admin: the tests move the clock, and an access token lasts ten minutes. */
const anAdmin = () => backend.signIn()

const signIn = (
  { email, password }: Pick<SignedIn, 'email' | 'password'>,
  code?: string,
  on: Backend = backend,
) => on.call(authorize, { body: { email, password, ...(code !== undefined && { code }) } })

/**
 * Sets up an app. Returns its secret and the recovery codes; a code of the current period is used
 * up.
 */
async function withApp(
  user: SignedIn,
  on: Backend = backend,
): Promise<{ secret: string; codes: string[] }> {
  const { secret } = (await user.call(totpBegin)).answer!
  const confirmed = await user.call(totpConfirm, { body: { code: codeOf(secret, on.clock.now()) } })
  expect(confirmed.status).toBe(200)
  on.clock.advance(30_000)
  return { secret, codes: confirmed.answer!.recovery_codes ?? [] }
}

/** Actions of the audit log about a user, oldest first, with their results. */
async function audited(userId: string): Promise<string[]> {
  await backend.publish()
  const { answer } = await (
    await anAdmin()
  ).call(auditList, { query: { target: userId, per_page: 200 } })
  return answer!.items
    .map(({ action, result }) => (result === 'ok' ? action : `${action}: ${result}`))
    .toReversed()
}

test('with an app, the password alone does not sign in, and a code of the app does', async () => {
  const user = await backend.signIn({ role: 'operator' })
  const { secret } = await withApp(user)
  const first = await signIn(user)
  expect(first.problem).toMatchObject({
    code: 'second_factor_needed',
    error: 'Enter the code of your authenticator app, or enter a recovery code.',
  })
  expect(first.headers['set-cookie']).toBeUndefined()
  expect((await signIn(user, codeOf(secret, backend.clock.now()))).status).toBe(200)
  expect(
    (
      await signIn(
        { ...user, password: 'not the password' },
        codeOf(secret, backend.clock.now(), 1),
      )
    ).problem?.code,
  ).toBe('invalid_credentials')
})

test('a code works once, also if it is used twice at the same time', async () => {
  const user = await backend.signIn()
  const { secret } = await withApp(user)
  const code = codeOf(secret, backend.clock.now())
  const both = await Promise.all([signIn(user, code), signIn(user, code), signIn(user, code)])
  expect(both.filter(({ status }) => status === 200)).toHaveLength(1)
  expect(both.flatMap(({ problem }) => problem?.code ?? [])).toEqual([
    'invalid_credentials',
    'invalid_credentials',
  ])
  expect((await signIn(user, code)).problem).toMatchObject({
    code: 'invalid_credentials',
    fields: { code: expect.any(String) as string },
  })
  // The code of the earlier period, which would still be accepted, is older than the one that was
  // used.
  expect((await signIn(user, codeOf(secret, backend.clock.now(), -1))).status).toBe(401)
  backend.clock.advance(30_000)
  expect((await signIn(user, codeOf(secret, backend.clock.now()))).status).toBe(200)
})

test('the code that confirmed an app can not sign in', async () => {
  const user = await backend.signIn()
  const { secret } = (await user.call(totpBegin)).answer!
  const code = codeOf(secret, backend.clock.now())
  await user.call(totpConfirm, { body: { code } })
  expect((await signIn(user, code)).status).toBe(401)
})

test('each recovery code works once, in any spelling, and its use is audited', async () => {
  const user = await backend.signIn()
  const { codes } = await withApp(user)
  expect(codes).toHaveLength(10)
  expect(new Set(codes).size).toBe(10)
  const [first, second] = codes as [string, string]
  expect(first).toMatch(/^(?:[2-9a-hjkmnp-z]{4}-){5}[2-9a-hjkmnp-z]{4}$/)
  const both = await Promise.all([signIn(user, first), signIn(user, first)])
  expect(both.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 401])
  expect((await signIn(user, first)).status).toBe(401)
  expect((await signIn(user, ` ${second.toUpperCase().replaceAll('-', ' ')} `)).status).toBe(200)
  expect((await user.call(profileGet)).answer).toMatchObject({ recovery_codes: 8 })
  expect(
    (await audited(user.userId)).filter((action) => action === 'user.recovery_code_used'),
  ).toHaveLength(2)
})

test('new recovery codes replace the old ones, and codes of another user do not work', async () => {
  const [user, other] = [await backend.signIn(), await backend.signIn()]
  const { codes } = await withApp(user)
  const theirs = await withApp(other)
  const renewed = (await user.call(recoveryCodesRenew)).answer!.recovery_codes
  expect((await signIn(user, codes[0])).status).toBe(401)
  expect((await signIn(user, theirs.codes[0])).status).toBe(401)
  expect((await signIn(user, renewed[0])).status).toBe(200)
})

test('wrong codes slow down the account from every address, but not on a device that signed in before; unlocking clears it', async () => {
  const user = await backend.signIn()
  const { secret } = await withApp(user)
  const from = (ip: string, code: string, cookie?: string) =>
    backend.app.inject({
      method: 'POST',
      url: authorize.path,
      remoteAddress: ip,
      headers: { 'content-type': 'application/json', ...(cookie !== undefined && { cookie }) },
      payload: JSON.stringify({ email: user.email, password: user.password, code }),
    })
  const known = await from('192.0.2.1', codeOf(secret, backend.clock.now()))
  const cookie = String(known.headers['set-cookie']).split(';', 1)[0]!
  for (let i = 0; i < 5; i++) expect((await from(`198.51.100.${i}`, '000000')).statusCode).toBe(401)
  const slowed = await from('203.0.113.9', '000000')
  expect([slowed.statusCode, Number(slowed.headers['retry-after'])]).toEqual([429, 30])
  backend.clock.advance(30_000)
  expect((await from('192.0.2.1', codeOf(secret, backend.clock.now()), cookie)).statusCode).toBe(
    200,
  )
  backend.clock.advance(30_000)
  // The right code has to wait too: else guesses would only be slowed down, not limited.
  expect((await from('203.0.113.9', codeOf(secret, backend.clock.now()))).statusCode).toBe(429)
  await (await anAdmin()).call(userUnlock, { params: { id: user.userId } })
  expect((await from('203.0.113.9', codeOf(secret, backend.clock.now()))).statusCode).toBe(200)
  expect(
    (await audited(user.userId)).filter(
      (action) => action === 'session.refused: invalid_credentials',
    ),
  ).toHaveLength(5)
})

test('a wrong password is answered alike for accounts with and without a second factor, with and without a code', async () => {
  const [plain, strong] = [await backend.signIn(), await backend.signIn()]
  const { codes } = await withApp(strong)
  const password = 'not the password'
  const answers = [
    await signIn({ ...plain, password }),
    await signIn({ ...strong, password }),
    await signIn({ ...strong, password }, codes[0]),
    await signIn({ email: 'nobody@example.com', password }, '123456'),
  ]
  expect(
    new Set(answers.map(({ status, problem }) => `${status} ${problem?.code} ${problem?.error}`)),
  ).toEqual(new Set(['401 invalid_credentials Invalid email or password']))
  // The recovery code was not used up by somebody who doesn't know the password.
  expect((await signIn(strong, codes[0])).status).toBe(200)
})

test('an app counts only after its first code, within ten minutes, and replaces an earlier one then', async () => {
  const user = await backend.signIn()
  const { secret: old } = await withApp(user)
  const { secret: next } = (await user.call(totpBegin)).answer!
  expect((await signIn(user, codeOf(next, backend.clock.now()))).status).toBe(401)
  expect((await signIn(user, codeOf(old, backend.clock.now()))).status).toBe(200)
  expect((await user.call(totpConfirm, { body: { code: '000000' } })).problem).toMatchObject({
    code: 'invalid',
    fields: { code: expect.any(String) as string },
  })
  backend.clock.advance(10 * 60_000)
  const { access_token } = (
    await backend.call(authorizeRefresh, { body: { refresh_token: user.refreshToken } })
  ).answer!
  const headers = { authorization: `Bearer ${access_token}` }
  expect(
    (
      await backend.call(
        totpConfirm,
        { body: { code: codeOf(next, backend.clock.now()) } },
        { headers },
      )
    ).problem?.code,
  ).toBe('challenge_over')
  const again = (await backend.call(totpBegin, {}, { headers })).answer!
  // The account has recovery codes already.
  expect(
    (
      await backend.call(
        totpConfirm,
        { body: { code: codeOf(again.secret, backend.clock.now()) } },
        { headers },
      )
    ).answer,
  ).toEqual({ recovery_codes: null })
  backend.clock.advance(30_000)
  expect((await signIn(user, codeOf(old, backend.clock.now()))).status).toBe(401)
  expect((await signIn(user, codeOf(again.secret, backend.clock.now()))).status).toBe(200)
})

test('after the app is removed, the password signs in alone and recovery codes are gone', async () => {
  const user = await backend.signIn()
  await withApp(user)
  expect((await user.call(totpRemove)).status).toBe(204)
  expect((await user.call(totpRemove)).status).toBe(404)
  expect((await signIn(user)).status).toBe(200)
  expect((await user.call(profileGet)).answer).toMatchObject({
    totp_since: null,
    recovery_codes: 0,
  })
  expect((await user.call(recoveryCodesRenew)).status).toBe(409)
})

test('an admin removes the second factor of a user who has lost it, which ends their sessions', async () => {
  const user = await backend.signIn({ role: 'viewer' })
  await withApp(user)
  const admin = await anAdmin()
  const listed = async () =>
    (await admin.call(userList, { query: { q: user.email, second_factor: 'yes' } })).answer!.total
  expect(await listed()).toBe(1)
  expect((await user.call(userResetSecondFactor, { params: { id: user.userId } })).status).toBe(403)
  expect((await admin.call(userResetSecondFactor, { params: { id: user.userId } })).status).toBe(
    204,
  )
  expect(await listed()).toBe(0)
  // Processes learn of it by a notification.
  await expect.poll(async () => (await user.call(sessionGet)).status).toBe(401)
  expect((await signIn(user)).status).toBe(200)
  expect(await audited(user.userId)).toEqual(
    expect.arrayContaining([
      'user.second_factor_added',
      'user.second_factor_reset',
      'session.ended',
    ]) as string[],
  )
})

test('a role that requires a second factor has no rights without one, except to add one', async () => {
  const own = await startBackend({
    environment: { STEELYARD_SECOND_FACTOR_ROLES: 'operator,admin' },
  })
  const viewer = await own.signIn({ role: 'viewer' })
  expect((await viewer.call(serverList)).status).toBe(200)
  const operator = await own.signIn({ role: 'operator' })
  expect((await operator.call(sessionGet)).answer).toMatchObject({
    role: 'operator',
    scopes: [],
    second_factor_missing: true,
  })
  const refused = await operator.call(serverList)
  expect([refused.status, refused.problem?.code]).toEqual([403, 'second_factor_required'])
  const { secret } = await withApp(operator, own)
  // The access token was issued without scopes.
  expect((await operator.call(serverList)).problem?.code).toBe('forbidden')
  const { access_token } = (
    await own.call(authorizeRefresh, { body: { refresh_token: operator.refreshToken } })
  ).answer!
  const listed = await own.call(
    serverList,
    {},
    { headers: { authorization: `Bearer ${access_token}` } },
  )
  expect(listed.status).toBe(200)
  const removed = await operator.call(totpRemove)
  expect([removed.status, removed.problem?.error]).toEqual([
    409,
    'Your role requires a second factor: add another one first',
  ])
  const again = (await signIn(operator, codeOf(secret, own.clock.now()), own)).answer!
  expect(
    (await own.call(serverList, {}, { headers: { authorization: `Bearer ${again.accessToken}` } }))
      .status,
  ).toBe(200)
})

test('a user who gets a role that requires a second factor loses all rights within five seconds', async () => {
  const own = await startBackend({ environment: { STEELYARD_SECOND_FACTOR_ROLES: 'admin' } })
  const boss = await own.signIn()
  const { secret } = await withApp(boss, own)
  const { access_token } = (
    await own.call(authorizeRefresh, { body: { refresh_token: boss.refreshToken } })
  ).answer!
  const viewer = await own.signIn({ role: 'viewer' })
  expect((await viewer.call(serverList)).status).toBe(200)
  const stream = await fetch(`${await own.listen()}${eventStream.path}`, {
    headers: { authorization: `Bearer ${viewer.accessToken}` },
  })
  const ended = stream.text().then(
    () => true,
    () => true,
  )
  const promoted = await own.call(
    userUpdate,
    { params: { id: viewer.userId }, body: { role: 'admin' } },
    { headers: { authorization: `Bearer ${access_token}` } },
  )
  expect(promoted.status).toBe(200)
  own.clock.advance(5_000)
  expect((await viewer.call(serverList)).problem?.code).toBe('second_factor_required')
  expect(await ended).toBe(true)
  expect(secret).toHaveLength(32)
})

test('a sign-in that fails because no token can be issued does not use up its code', async () => {
  const user = await backend.signIn()
  const [code] = (await withApp(user)).codes
  // The key of access tokens is renewed after 30 days, and now it can't be.
  backend.clock.advance(31 * 86_400_000)
  const { db } = backend.platform
  await sql`create function no_key() returns trigger language plpgsql as $$ begin raise exception 'no key'; end $$`.execute(
    db,
  )
  await sql`create trigger no_key before insert on signing_key execute function no_key()`.execute(
    db,
  )
  const payload = { email: user.email, password: user.password, code }
  expect(
    (await backend.app.inject({ method: 'POST', url: authorize.path, payload })).statusCode,
  ).toBe(500)
  await sql`drop trigger no_key on signing_key`.execute(db)
  expect((await signIn(user, code)).status).toBe(200)
})
