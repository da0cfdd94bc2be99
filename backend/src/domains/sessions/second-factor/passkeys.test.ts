import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { auditList } from '#contract/audit.ts'
import {
  authorizePasskeyBegin,
  passkeyAdd,
  passkeyBegin,
  passkeyRemove,
  passkeyRename,
  passkeysAt,
  passkeysOf,
} from '#contract/people/passkeys.ts'
import { profileGet, sessionProve, sessionProvePasskey } from '#contract/people/profile.ts'
import { authorizePasskey } from '#contract/people/sign-in.ts'
import { authorize, sessionList } from '#contract/sessions.ts'
import { userUpdate } from '#contract/users.ts'
import { type Backend, type SignedIn, startBackend } from '../../../testing/backend.ts'
import { authenticator, type Wrong } from '../testing/authenticator.ts'

const origin = 'https://steelyard.example.com'
const environment = { STEELYARD_PUBLIC_URL: origin }
const backend = await startBackend({ environment })
const anAdmin = () => backend.signIn()

/** Adds a passkey to the user's account. */
async function withPasskey(user: SignedIn, name = 'Laptop') {
  const device = authenticator(origin)
  const { challenge_id, options } = (await user.call(passkeyBegin)).answer!
  const added = await user.call(passkeyAdd, {
    body: { challenge_id, name, credential: device.create(options) },
  })
  expect(added.status).toBe(201)
  return { device, ...added.answer! }
}

async function signIn(
  device: ReturnType<typeof authenticator>,
  wrong: Wrong = {},
  on: Backend = backend,
) {
  const { challenge_id, options } = (await on.call(authorizePasskeyBegin)).answer!
  return on.call(authorizePasskey, {
    body: { challenge_id, credential: device.get(options, wrong) },
  })
}

test('a passkey signs in without email and password, and its use is shown', async () => {
  const user = await backend.signIn({ role: 'operator' })
  const { device, passkey, recovery_codes } = await withPasskey(user)
  expect(recovery_codes).toHaveLength(10)
  expect(passkey).toMatchObject({ name: 'Laptop', last_used_at: null })
  const signed = await signIn(device)
  expect(signed).toMatchObject({
    status: 200,
    answer: { userData: { id: user.userId, email: user.email } },
  })
  expect((await user.call(profileGet)).answer!.passkeys).toMatchObject([
    { id: passkey.id, last_used_at: expect.any(String) as string },
  ])
  expect(
    (await user.call(sessionList, { query: { sort: '-created_at' } }))
      .answer!.items.map((s) => s.method)
      .toSorted(),
  ).toEqual(['passkey', 'password'])
  // The second passkey brings no new recovery codes.
  expect((await withPasskey(user, 'Phone')).recovery_codes).toBeNull()
})

test('with a passkey, the password alone does not sign in', async () => {
  const user = await backend.signIn()
  const { recovery_codes } = await withPasskey(user)
  const { email, password } = user
  const refused = await backend.call(authorize, { body: { email, password } })
  expect(refused.problem).toMatchObject({
    code: 'second_factor_needed',
    error: 'Sign in with your passkey, or enter a recovery code.',
  })
  expect(
    (await backend.call(authorize, { body: { email, password, code: recovery_codes![0]! } }))
      .status,
  ).toBe(200)
})

test('a passkey that is removed while it signs in starts no session', async () => {
  const user = await backend.signIn({ role: 'viewer' })
  const { device, passkey } = await withPasskey(user)
  const { db } = backend.platform
  const waits = async () =>
    (
      await sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`.execute(
        db,
      )
    ).rows.length
  const { answer } = await db.transaction().execute(async (tx) => {
    await tx.selectFrom('person').select('id').where('id', '=', user.userId).forUpdate().execute()
    const signed = signIn(device)
    await expect.poll(waits, { timeout: 60_000, interval: 20 }).toBe(1)
    await tx.deleteFrom('passkey').where('id', '=', passkey.id).execute()
    return { answer: signed }
  })
  expect([(await answer).status, (await answer).problem?.code]).toEqual([
    401,
    'invalid_credentials',
  ])
  expect((await user.call(sessionList)).answer!.total).toBe(1)
})

test('a challenge is answered once, within five minutes, and only for what it was made', async () => {
  const user = await backend.signIn()
  const { device } = await withPasskey(user)
  const { challenge_id, options } = (await backend.call(authorizePasskeyBegin)).answer!
  const body = { challenge_id, credential: device.get(options) }
  const both = await Promise.all([
    backend.call(authorizePasskey, { body }),
    backend.call(authorizePasskey, { body }),
  ])
  expect(both.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409])
  expect((await backend.call(authorizePasskey, { body })).problem?.code).toBe('challenge_over')

  const proof = (await user.call(sessionProvePasskey)).answer!
  const credential = device.get(proof.options)
  expect(
    (
      await backend.call(authorizePasskey, {
        body: { challenge_id: proof.challenge_id, credential },
      })
    ).problem?.code,
  ).toBe('challenge_over')
  const other = await backend.signIn()
  expect(
    (
      await other.call(sessionProve, {
        body: { passkey: { challenge_id: proof.challenge_id, credential } },
      })
    ).problem?.code,
  ).toBe('challenge_over')
  expect(
    (
      await user.call(sessionProve, {
        body: { passkey: { challenge_id: proof.challenge_id, credential } },
      })
    ).status,
  ).toBe(200)

  const late = (await backend.call(authorizePasskeyBegin)).answer!
  backend.clock.advance(5 * 60_000)
  const answered = await backend.call(authorizePasskey, {
    body: { challenge_id: late.challenge_id, credential: device.get(late.options) },
  })
  expect(answered.problem?.code).toBe('challenge_over')
})

test.each<[string, Wrong]>([
  ['another origin', { origin: 'https://steelyard.example.com.evil.example' }],
  ['another site', { rpId: 'evil.example' }],
  ['another challenge', { challenge: 'AAAA' }],
  ['a device that did not verify its user', { unverified: true }],
  ['another user', { userHandle: Buffer.alloc(16).toString('base64url') }],
  ['a counter that went back, as of a copied device', { counter: 1 }],
])('an answer for %s is refused', async (_what, wrong) => {
  const user = await backend.signIn()
  const { device } = await withPasskey(user)
  expect((await signIn(device)).status).toBe(200)
  const refused = await signIn(device, wrong)
  expect([refused.status, refused.problem?.code]).toEqual([401, 'invalid_credentials'])
})

test('an unknown passkey, a changed signature and a text that is no answer are refused', async () => {
  const user = await backend.signIn()
  const { device } = await withPasskey(user)
  const stranger = authenticator(origin)
  stranger.create({ challenge: 'AAAA', rp: { id: 'steelyard.example.com' }, user: { id: 'AAAA' } })
  expect((await signIn(stranger)).problem?.code).toBe('invalid_credentials')

  const { challenge_id, options } = (await backend.call(authorizePasskeyBegin)).answer!
  const credential = device.get(options) as { response: { signature: string } }
  const signature = Buffer.from(credential.response.signature, 'base64url')
  signature[signature.length - 1]! ^= 1
  const changed = {
    ...credential,
    response: { ...credential.response, signature: signature.toString('base64url') },
  }
  expect(
    (await backend.call(authorizePasskey, { body: { challenge_id, credential: changed } })).status,
  ).toBe(401)

  const next = (await backend.call(authorizePasskeyBegin)).answer!
  for (const nonsense of [
    {},
    { id: 'x' },
    { ...credential, response: null },
    { ...credential, id: '../..' },
  ])
    expect(
      (
        await backend.call(authorizePasskey, {
          body: { challenge_id: next.challenge_id, credential: nonsense },
        })
      ).status,
    ).toBe(422)
  await backend.publish()
  const refusals = (
    await (await anAdmin()).call(auditList, { query: { action: 'session.refused' } })
  ).answer!
  expect(refusals.total).toBeGreaterThanOrEqual(2)
})

test('a disabled user can not sign in with a passkey', async () => {
  const user = await backend.signIn({ role: 'viewer' })
  const { device } = await withPasskey(user)
  await (
    await anAdmin()
  ).call(userUpdate, { params: { id: user.userId }, body: { disabled: true } })
  expect((await signIn(device)).problem?.code).toBe('invalid_credentials')
})

test('a passkey can be renamed and removed by its user only; the last one takes the recovery codes with it', async () => {
  const [user, other] = [await backend.signIn(), await backend.signIn()]
  const { device, passkey } = await withPasskey(user)
  const params = { id: passkey.id }
  expect((await other.call(passkeyRename, { params, body: { name: 'Mine' } })).status).toBe(404)
  expect((await other.call(passkeyRemove, { params })).status).toBe(404)
  expect(
    (await user.call(passkeyRename, { params, body: { name: 'Work laptop' } })).answer,
  ).toMatchObject({ name: 'Work laptop' })
  expect((await user.call(passkeyRemove, { params })).status).toBe(204)
  expect((await signIn(device)).status).toBe(401)
  expect((await user.call(profileGet)).answer).toMatchObject({ passkeys: [], recovery_codes: 0 })
  expect((await user.call(sessionProvePasskey)).status).toBe(409)
})

test('the same device is not added twice, and a passkey made for another page is refused', async () => {
  const user = await backend.signIn()
  const device = authenticator(origin)
  const first = (await user.call(passkeyBegin)).answer!
  await user.call(passkeyAdd, {
    body: {
      challenge_id: first.challenge_id,
      name: 'One',
      credential: device.create(first.options),
    },
  })
  const second = (await user.call(passkeyBegin)).answer!
  expect(second.options['excludeCredentials']).toHaveLength(1)
  const twice = await user.call(passkeyAdd, {
    body: {
      challenge_id: second.challenge_id,
      name: 'Two',
      credential: device.create(second.options),
    },
  })
  expect(twice.status).toBe(409)
  const third = (await user.call(passkeyBegin)).answer!
  const foreign = authenticator('https://evil.example').create(third.options)
  const refused = await user.call(passkeyAdd, {
    body: { challenge_id: third.challenge_id, name: 'Three', credential: foreign },
  })
  expect(refused.problem).toMatchObject({
    code: 'invalid',
    fields: { credential: expect.any(String) as string },
  })
})

test('beginning sign-ins is rate-limited for each source', async () => {
  const own = await startBackend({ environment })
  const begin = () => own.call(authorizePasskeyBegin)
  for (let i = 0; i < 20; i++) expect((await begin()).status).toBe(200)
  const refused = await begin()
  expect([refused.status, refused.headers['retry-after']]).toEqual([429, '2'])
})

test('passkeys need a host name and HTTPS, except on localhost', async () => {
  expect(passkeysAt('https://steelyard.example.com:8443')).toEqual({ ok: true })
  expect(passkeysAt('http://localhost:8080')).toEqual({ ok: true })
  for (const address of ['http://127.0.0.1:8080', 'https://10.0.0.4', 'https://[fd00::1]'])
    expect(passkeysAt(address)).toMatchObject({ ok: false })
  expect(passkeysAt('http://steelyard.example.com')).toEqual({
    ok: false,
    reason: 'Browsers offer passkeys only over HTTPS',
  })
  expect(passkeysOf('example.com', 'https://steelyard.example.com')).toEqual({ ok: true })
  expect(passkeysOf('steelyard.example.com', 'https://other.example.com')).toMatchObject({
    ok: false,
  })
  const plain = await startBackend()
  const user = await plain.signIn()
  const refused = await user.call(passkeyBegin)
  expect([refused.status, refused.problem?.error]).toEqual([
    409,
    expect.stringContaining('127.0.0.1 is an IP address'),
  ])
  expect((await plain.call(authorizePasskeyBegin)).status).toBe(409)
})
