import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { auditList } from '#contract/audit.ts'
import { clusterDelete, clusterKubeconfig } from '#contract/clusters/clusters.ts'
import { apiTokenCreate } from '#contract/people/api-tokens.ts'
import { profileGet, profileUpdate, sessionProve } from '#contract/people/profile.ts'
import { totpBegin } from '#contract/people/second-factor.ts'
import { allOperations } from '#contract/all.ts'
import type { Operation } from '#contract/operation.ts'
import {
  authorize,
  authorizeRefresh,
  passwordChange,
  sessionEndAll,
  sessionGet,
  sessionList,
} from '#contract/sessions.ts'
import { userCreate, userUpdate } from '#contract/users.ts'
import { type Backend, type Call, type SignedIn, startBackend } from '../../testing/backend.ts'

const missing = '00000000-0000-4000-8000-000000000001'

/** The user's calls with a new access token, after the clock was moved. */
async function again(user: SignedIn, on: Backend): Promise<Call> {
  const { access_token } = (
    await on.call(authorizeRefresh, { body: { refresh_token: user.refreshToken } })
  ).answer!
  const headers = { authorization: `Bearer ${access_token}` }
  return (operation, input) => on.call(operation, input, { headers })
}

test('15 minutes after the sign-in, calls that need a proof ask for it; the proof opens them for 15 minutes in this session', async () => {
  const backend = await startBackend()
  const user = await backend.signIn()
  const body = { email: 'new@example.com', name: 'New', role: 'viewer' as const }
  backend.clock.advance(14 * 60_000)
  let call = await again(user, backend)
  expect((await call(clusterKubeconfig, { params: { id: missing } })).status).toBe(404)
  backend.clock.advance(60_000)
  call = await again(user, backend)
  const refused = await call(userCreate, { body })
  expect([refused.status, refused.problem?.code]).toEqual([409, 'proof_needed'])
  for (const answer of [
    await call(clusterKubeconfig, { params: { id: missing } }),
    await call(clusterDelete, { params: { id: missing } }),
    await call(totpBegin),
  ])
    expect(answer.problem?.code).toBe('proof_needed')
  // Other calls go on.
  expect((await call(sessionGet)).status).toBe(200)

  const wrong = await call(sessionProve, { body: { password: 'not the password' } })
  expect(wrong.problem).toMatchObject({
    code: 'invalid',
    fields: { password: 'This is not your password' },
  })
  expect((await call(userCreate, { body })).problem?.code).toBe('proof_needed')
  const proved = await call(sessionProve, { body: { password: user.password } })
  expect(Date.parse(proved.answer!.proof_until) - backend.clock.now()).toBe(15 * 60_000)
  expect((await call(userCreate, { body })).status).toBe(201)
  expect((await call(profileGet)).answer!.proof_until).toBe(proved.answer!.proof_until)

  // Another session of the same user has to prove for itself.
  const other = await backend.call(authorize, {
    body: { email: user.email, password: user.password },
  })
  expect(other.status).toBe(200)
  backend.clock.advance(15 * 60_000)
  call = await again(user, backend)
  expect(
    (await call(userCreate, { body: { ...body, email: 'later@example.com' } })).problem?.code,
  ).toBe('proof_needed')
})

test('a proof given to one process counts in another at once', async () => {
  const backend = await startBackend()
  const beside = await startBackend({ beside: backend, clock: backend.clock })
  const user = await backend.signIn()
  backend.clock.advance(15 * 60_000)
  const [here, there] = [await again(user, backend), await again(user, beside)]
  expect((await there(totpBegin)).problem?.code).toBe('proof_needed')
  expect((await here(sessionProve, { body: { password: user.password } })).status).toBe(200)
  expect((await there(totpBegin)).status).toBe(200)
})

test('a proof in the future, after the clock was set back, counts as none', async () => {
  const backend = await startBackend()
  const user = await backend.signIn()
  backend.clock.jump(-3600_000)
  const { access_token } = (
    await backend.call(authorizeRefresh, { body: { refresh_token: user.refreshToken } })
  ).answer!
  const asked = await backend.call(
    totpBegin,
    {},
    { headers: { authorization: `Bearer ${access_token}` } },
  )
  expect(asked.problem?.code).toBe('proof_needed')
})

test('guesses of the password for a proof are throttled', async () => {
  const backend = await startBackend()
  const user = await backend.signIn()
  for (let i = 0; i < 5; i++)
    expect((await user.callOnce(sessionProve, { body: { password: `guess ${i}` } })).status).toBe(
      422,
    )
  const slowed = await user.callOnce(sessionProve, { body: { password: user.password } })
  expect([slowed.status, slowed.problem?.code]).toEqual([429, 'throttled'])
})

test('wrong proofs of one session slow down neither another session of the same user nor a sign-in', async () => {
  const backend = await startBackend()
  const user = await backend.signIn()
  const { accessToken } = (
    await backend.call(authorize, { body: { email: user.email, password: user.password } })
  ).answer!
  const stolen = { headers: { authorization: `Bearer ${accessToken}` } }
  for (let i = 0; i < 5; i++)
    expect(
      (await backend.call(sessionProve, { body: { password: `guess ${i}` } }, stolen)).status,
    ).toBe(422)
  expect(
    (await backend.call(sessionProve, { body: { password: user.password } }, stolen)).status,
  ).toBe(429)
  const change = { body: { password: user.password, new_password: 'another good password' } }
  expect((await backend.call(passwordChange, change, stolen)).status).toBe(429)
  expect((await user.callOnce(sessionProve, { body: { password: user.password } })).status).toBe(
    200,
  )
  expect(
    (await backend.call(authorize, { body: { email: user.email, password: user.password } }))
      .status,
  ).toBe(200)
  expect((await user.callOnce(passwordChange, change)).status).toBe(204)
})

test('a session that guesses without end gets some audit entries and one with the number of the others', async () => {
  const backend = await startBackend()
  const user = await backend.signIn()
  const refused = async (reader = user) => {
    await backend.publish()
    return (
      await reader.call(auditList, { query: { action: 'session.proof_refused', per_page: 200 } })
    ).answer!.items
  }
  for (let i = 0; i < 14; i++) {
    expect((await user.callOnce(sessionProve, { body: { password: `guess ${i}` } })).status).toBe(
      422,
    )
    await sql`delete from sign_in_failure`.execute(backend.platform.db)
  }
  expect(await refused()).toHaveLength(10)
  backend.clock.advance(10 * 60_000)
  // The access token has expired.
  const reader = await backend.signIn()
  await expect
    .poll(async () => (await refused(reader)).map((entry) => entry.after?.['count']))
    .toEqual([4, ...Array<undefined>(10).fill(undefined)])
})

test('a proof must be exactly one of password, passkey and provider', async () => {
  const backend = await startBackend()
  const user = await backend.signIn()
  for (const body of [{}, { password: user.password, provider: { state: 'x' } }])
    expect((await user.callOnce(sessionProve, { body })).problem?.code).toBe('invalid')
})

test('a proof and a refused guess are audited', async () => {
  const backend = await startBackend()
  const user = await backend.signIn()
  await user.callOnce(sessionProve, { body: { password: 'a wrong guess' } })
  await user.callOnce(sessionProve, { body: { password: user.password } })
  await backend.publish()
  const { answer } = await user.call(auditList, { query: { action: 'session.proved' } })
  expect(answer!.items).toMatchObject([
    { actor: user.email, after: { method: 'password' }, by_token: false },
  ])
  const refused = await user.call(auditList, { query: { action: 'session.proof_refused' } })
  expect(refused.answer!.items).toMatchObject([
    { actor: user.email, after: { method: 'password' }, result: 'invalid' },
  ])
})

test('the calls that need a proof are those that return credentials, delete a cluster or its snapshots, release it from its files, or change users and second factors', () => {
  expect(
    allOperations
      .filter((o) => o.proof)
      .map((o) => o.name)
      .toSorted(),
  ).toEqual([
    'apiTokenCreate',
    'backupRemove',
    'clusterDelete',
    'clusterFilesRelease',
    'clusterKubeconfig',
    'clusterTalosconfig',
    'invitationCreate',
    'passkeyBegin',
    'passkeyRemove',
    'recoveryCodesRenew',
    'serverTalosconfig',
    'snapshotDownload',
    'snapshotRemove',
    'totpBegin',
    'totpRemove',
    'userCreate',
    'userRemove',
    'userResetPassword',
    'userResetSecondFactor',
    'userUnlock',
    'userUpdate',
    'waitlistInvite',
  ])
})

test('every call that gives a credential away or manages users needs a proof, except to take access away', () => {
  const takesAway = ['invitationRemove', 'waitlistRemove']
  // Only admins manage stores and backups, whose content is encrypted, and where findings are sent,
  // which contain no secret.
  const sendsNoCredential = ({ path }: Operation) =>
    /^\/v1\/(?:stores|backups|backup-schedule|channels|alert-rules|deliveries)\b/.test(path)
  const needs = allOperations.filter(
    (o) =>
      o.scope === 'secrets:read' ||
      (o.scope === 'users:manage' && o.method !== 'GET' && !sendsNoCredential(o)),
  )
  expect(needs.length).toBeGreaterThan(10)
  expect(needs.filter((o) => !o.proof).map((o) => o.name)).toEqual(takesAway)
})

test('a user sees their role, who can change it, and changes their own name', async () => {
  const backend = await startBackend()
  const [admin, viewer] = [await backend.signIn(), await backend.signIn({ role: 'viewer' })]
  expect((await viewer.call(profileGet)).answer).toMatchObject({
    role: 'viewer',
    has_password: true,
    has_provider: false,
    method: 'password',
    second_factor_required: false,
    administrators: [{ name: 'admin', email: admin.email }],
  })
  expect((await viewer.call(profileUpdate, { body: { name: ' Ada ' } })).answer).toEqual({
    id: viewer.userId,
    email: viewer.email,
    name: 'Ada',
  })
  expect((await viewer.call(sessionGet)).answer!.user.name).toBe('Ada')
  await admin.call(userUpdate, { params: { id: admin.userId }, body: { name: 'Grace' } })
  expect((await viewer.call(profileGet)).answer!.administrators).toEqual([
    { name: 'Grace', email: admin.email },
  ])
})

test('a user ends all their other sessions at once; those of others only with users:manage', async () => {
  const backend = await startBackend()
  const [admin, viewer] = [await backend.signIn(), await backend.signIn({ role: 'viewer' })]
  for (let i = 0; i < 3; i++)
    await backend.call(authorize, { body: { email: viewer.email, password: viewer.password } })
  expect((await viewer.call(sessionEndAll, { query: { user_id: admin.userId } })).status).toBe(403)
  expect((await viewer.call(sessionEndAll)).answer).toEqual({ ended: 3 })
  expect((await viewer.call(sessionList)).answer!.items).toMatchObject([{ current: true }])
  expect((await admin.call(sessionEndAll, { query: { user_id: viewer.userId } })).answer).toEqual({
    ended: 1,
  })
  expect((await viewer.call(sessionGet)).status).toBe(401)
  expect((await admin.call(sessionEndAll, { query: { user_id: missing } })).status).toBe(404)
})

test('creating an API token asks for the proof', async () => {
  const backend = await startBackend()
  const user = await backend.signIn()
  backend.clock.advance(15 * 60_000)
  const call = await again(user, backend)
  expect(
    (await call(apiTokenCreate, { body: { name: 'ci', scopes: ['servers:read'] } })).problem?.code,
  ).toBe('proof_needed')
})
