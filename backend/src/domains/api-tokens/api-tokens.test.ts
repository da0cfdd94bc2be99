import { expect, test } from 'vitest'
import { auditList } from '#contract/audit.ts'
import { datacenterCreate, datacenterList } from '#contract/datacenters.ts'
import { eventStream } from '#contract/events.ts'
import type { Asked, Operation } from '#contract/operation.ts'
import {
  apiTokenCreate,
  apiTokenList,
  apiTokenPattern,
  apiTokenRevoke,
  type NewApiToken,
} from '#contract/people/api-tokens.ts'
import {
  invitationCreate,
  invitationList,
  waitlistInvite,
  waitlistJoin,
  waitlistList,
} from '#contract/people/invitations.ts'
import { sessionProve } from '#contract/people/profile.ts'
import { type Scope, scopesOf } from '#contract/permissions.ts'
import { serverList } from '#contract/servers/servers.ts'
import { passwordChange, sessionEndAll, sessionGet, sessionList } from '#contract/sessions.ts'
import {
  userCreate,
  userList,
  userRemove,
  userResetPassword,
  userResetSecondFactor,
  userUpdate,
} from '#contract/users.ts'
import { type Backend, type SignedIn, startBackend } from '../../testing/backend.ts'

const backend = await startBackend()
const admin = await backend.signIn()

const as = <O extends Operation>(
  token: string,
  operation: O,
  input: Partial<Asked<O>> = {},
  on: Backend = backend,
) => on.call(operation, input, { headers: { authorization: `Bearer ${token}` } })
async function withToken(
  user: SignedIn,
  scopes: Scope[] = ['servers:read'],
  more: Partial<NewApiToken> = {},
) {
  const made = await user.call(apiTokenCreate, { body: { name: 'ci', scopes, ...more } })
  expect(made.status).toBe(201)
  return made.answer!
}
const datacenter = { country_code: 'PL', city_code: 'POZ', city_name: 'Poznań' }

test('a token makes the calls of its scopes, without a session, and its last use is shown', async () => {
  const user = await backend.signIn({ role: 'operator' })
  const { token, ...made } = await withToken(user, ['servers:read', 'datacenters:write'])
  expect(token).toMatch(apiTokenPattern)
  expect(made).toMatchObject({
    name: 'ci',
    status: 'usable',
    last_used_at: null,
    last_used_ip: null,
    user: { email: user.email },
  })
  expect((await as(token, serverList)).status).toBe(200)
  const created = await as(token, datacenterCreate, { body: datacenter })
  expect(created.status).toBe(201)
  expect((await as(token, datacenterList)).problem?.error).toBe(
    'The API token does not include datacenters:read',
  )
  expect((await as(token, sessionGet)).answer).toMatchObject({
    role: 'operator',
    scopes: ['servers:read', 'datacenters:write'],
    expiresAt: made.expires_at,
  })
  const { answer } = await user.call(apiTokenList)
  expect(answer!.items).toMatchObject([
    { id: made.id, last_used_at: expect.any(String) as string, last_used_ip: '127.0.0.1' },
  ])
  expect(JSON.stringify(answer)).not.toContain(token.slice(7))
  await backend.publish()
  const audited = (await admin.call(auditList, { query: { target: created.answer!.id } })).answer!
    .items
  expect(audited).toMatchObject([
    { action: 'datacenter.created', actor: user.email, by_token: true, session_id: made.id },
  ])
})

test('the database holds no token, only its hash', async () => {
  const user = await backend.signIn()
  const { id, token } = await withToken(user)
  const row = await backend.platform.db
    .selectFrom('api_token')
    .selectAll()
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  expect(JSON.stringify(row)).not.toContain(token.slice(7, 30))
  expect(row.hash).toHaveLength(32)
})

test('scopes are at most those of the user, and the lifetime is at most a year', async () => {
  const viewer = await backend.signIn({ role: 'viewer' })
  const refused = await viewer.call(apiTokenCreate, {
    body: { name: 'x', scopes: ['servers:read', 'servers:write', 'secrets:read'] },
  })
  expect([refused.status, refused.problem?.error]).toEqual([
    403,
    'Your role does not include servers:write, secrets:read',
  ])
  for (const lifetime_days of [0, -1, 366, 1.5, 1e9])
    expect(
      (
        await viewer.call(apiTokenCreate, {
          body: { name: 'x', scopes: ['servers:read'], lifetime_days },
        })
      ).problem?.fields,
    ).toHaveProperty('lifetime_days')
  expect((await viewer.call(apiTokenCreate, { body: { name: 'x', scopes: [] } })).status).toBe(422)
  const made = await withToken(viewer, ['servers:read', 'servers:read'], { lifetime_days: 365 })
  expect(made.scopes).toEqual(['servers:read'])
  expect(Date.parse(made.expires_at) - Date.parse(made.created_at)).toBe(365 * 86_400_000)
})

test('a token expires to the second, and a wrong or changed one is refused', async () => {
  const own = await startBackend()
  const user = await own.signIn()
  const { token } = await withToken(user, ['servers:read'], { lifetime_days: 1 })
  own.clock.advance(86_400_000 - 1_000)
  expect((await as(token, serverList, {}, own)).status).toBe(200)
  own.clock.advance(1_000)
  const over = await as(token, serverList, {}, own)
  expect([over.status, over.problem?.code]).toEqual([401, 'session_expired'])
  for (const wrong of [
    `${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`,
    token.slice(0, -1),
    `${token}A`,
    'sy-api-',
    token.toUpperCase(),
  ])
    expect((await as(wrong, serverList, {}, own)).status).toBe(401)
})

test('a revoked token stops working at once, in every process, and its streams end', async () => {
  const url = await backend.listen()
  const beside = await startBackend({ beside: backend, clock: backend.clock })
  const user = await backend.signIn()
  const { id, token } = await withToken(user)
  expect((await as(token, serverList, {}, beside)).status).toBe(200)
  const stream = await fetch(`${url}${eventStream.path}`, {
    headers: { authorization: `Bearer ${token}` },
  })
  const ended = (async () => {
    try {
      for await (const part of stream.body!) void part
    } catch {
      // The server cut the connection.
    }
    return true
  })()
  expect((await user.call(apiTokenRevoke, { params: { id } })).status).toBe(204)
  expect((await as(token, serverList)).status).toBe(401)
  await expect
    .poll(async () => (await as(token, serverList, {}, beside)).status, { interval: 20 })
    .toBe(401)
  expect(await ended).toBe(true)
  expect((await user.call(apiTokenRevoke, { params: { id } })).status).toBe(404)
})

test('a lost notification of a revocation delays it by less than five seconds', async () => {
  const user = await backend.signIn()
  const { id, token } = await withToken(user)
  expect((await as(token, serverList)).status).toBe(200)
  await backend.platform.db.deleteFrom('api_token').where('id', '=', id).execute()
  backend.clock.advance(4_900)
  expect((await as(token, serverList)).status).toBe(401)
})

test('the token of a disabled user is refused, works again when they are enabled, and ends with the user', async () => {
  const user = await backend.signIn({ role: 'viewer' })
  const { token } = await withToken(user)
  const change = (disabled: boolean) =>
    admin.call(userUpdate, { params: { id: user.userId }, body: { disabled } })
  expect((await as(token, serverList)).status).toBe(200)
  await change(true)
  await expect.poll(async () => (await as(token, serverList)).status, { interval: 20 }).toBe(401)
  await change(false)
  expect((await as(token, serverList)).status).toBe(200)
  await admin.call(userRemove, { params: { id: user.userId } })
  await expect.poll(async () => (await as(token, serverList)).status, { interval: 20 }).toBe(401)
})

test('when its user loses a role, a token loses the scopes of that role', async () => {
  const user = await backend.signIn({ role: 'operator' })
  const { token } = await withToken(user, ['servers:read', 'datacenters:write'])
  await admin.call(userUpdate, { params: { id: user.userId }, body: { role: 'viewer' } })
  await expect
    .poll(async () => (await as(token, datacenterCreate, { body: datacenter })).status, {
      interval: 20,
    })
    .toBe(403)
  expect((await as(token, serverList)).status).toBe(200)
})

test('a token can not make tokens, change the account, or give proofs; proofs are not asked of it', async () => {
  const own = await startBackend()
  const user = await own.signIn()
  const { token } = await withToken(user, ['users:manage', ...scopesOf.viewer])
  own.clock.advance(20 * 60_000)
  const body = { password: user.password, new_password: 'another long password' }
  for (const refused of [
    await as(token, apiTokenCreate, { body: { name: 'more', scopes: ['servers:read'] } }, own),
    await as(token, passwordChange, { body }, own),
    await as(token, sessionProve, { body: { password: user.password } }, own),
  ])
    expect([refused.status, refused.problem?.error]).toEqual([
      403,
      'An API token may not do this. Sign in to do it.',
    ])
  const person = {
    email: 'made@example.com',
    name: 'Made',
    role: 'viewer' as const,
    password: 'a long password',
  }
  expect((await as(token, userCreate, { body: person }, own)).status).toBe(201)
})

test('a token gives nobody a role with scopes that it lacks, and no link to an account with one', async () => {
  const own = await startBackend()
  const user = await own.signIn()
  const other = await own.signIn()
  const { token } = await withToken(user, ['users:manage', ...scopesOf.viewer])
  const call = <O extends Operation>(operation: O, input: Partial<Asked<O>>) =>
    as(token, operation, input, own)
  const person = (role: 'viewer' | 'operator' | 'admin', n: number) => ({
    email: `made${n}@example.com`,
    name: 'Made',
    role,
  })
  const viewer = (await call(userCreate, { body: person('viewer', 1) })).answer!
  expect((await call(userResetPassword, { params: { id: viewer.id } })).status).toBe(200)
  await call(userUpdate, { params: { id: viewer.id }, body: { disabled: true } })
  expect(
    (await call(userUpdate, { params: { id: viewer.id }, body: { disabled: false } })).status,
  ).toBe(200)
  const operator = (await user.call(userCreate, { body: person('operator', 2) })).answer!
  await user.call(userUpdate, { params: { id: operator.id }, body: { disabled: true } })
  const { items: people } = (await user.call(userList)).answer!
  const admin = people.find(({ email }) => email === other.email)!.id
  await own.call(waitlistJoin, {
    body: { name: 'Waiting', company: 'Example', email: 'waiting@example.com' },
  })
  const waiting = (await user.call(waitlistList)).answer!.items[0]!.id
  const before = JSON.stringify([
    (await user.call(userList)).answer,
    (await user.call(invitationList)).answer,
  ])
  for (const refused of [
    await call(userCreate, { body: person('operator', 3) }),
    await call(userCreate, { body: { ...person('admin', 3), password: 'a long password' } }),
    await call(userUpdate, { params: { id: viewer.id }, body: { role: 'admin' } }),
    await call(userUpdate, { params: { id: operator.id }, body: { disabled: false } }),
    await call(userResetPassword, { params: { id: admin } }),
    await call(userResetSecondFactor, { params: { id: admin } }),
    await call(invitationCreate, {
      body: { email: 'invited@example.com', name: 'Invited', role: 'operator' },
    }),
    await call(waitlistInvite, { params: { id: waiting }, body: { role: 'admin' } }),
  ])
    expect([refused.status, refused.problem?.code, refused.problem?.error]).toEqual([
      403,
      'forbidden',
      expect.stringMatching(
        /^The role (?:operator|admin) includes servers:write, .*alerts:manage, which the API token does not include$/,
      ) as string,
    ])
  expect(
    JSON.stringify([(await user.call(userList)).answer, (await user.call(invitationList)).answer]),
  ).toBe(before)
  // With all scopes of its role, a token may do what its user may.
  const { token: whole } = await withToken(user, [...scopesOf.admin], { name: 'whole' })
  expect((await as(whole, userCreate, { body: person('admin', 4) }, own)).status).toBe(201)
})

test('without users:manage, a token sees and ends neither sessions nor other tokens, not even of its own user', async () => {
  const user = await backend.signIn()
  const { id, token } = await withToken(user)
  const other = await withToken(user, ['servers:read'], { name: 'other' })
  for (const refused of [
    await as(token, sessionList),
    await as(token, sessionEndAll),
    await as(token, apiTokenList),
  ])
    expect([refused.status, refused.problem?.error]).toEqual([
      403,
      'The API token does not include users:manage',
    ])
  expect((await as(token, apiTokenRevoke, { params: { id: other.id } })).status).toBe(404)
  // It may give itself up.
  expect((await as(token, apiTokenRevoke, { params: { id } })).status).toBe(204)
  expect((await as(token, serverList)).status).toBe(401)
})

test('users see and revoke their own tokens, admins those of everybody', async () => {
  const [one, two] = [
    await backend.signIn({ role: 'viewer' }),
    await backend.signIn({ role: 'viewer' }),
  ]
  const { id } = await withToken(one)
  expect((await two.call(apiTokenList)).answer!.total).toBe(0)
  expect((await two.call(apiTokenList, { query: { user_id: one.userId } })).status).toBe(403)
  expect((await two.call(apiTokenRevoke, { params: { id } })).status).toBe(404)
  expect(
    (await admin.call(apiTokenList, { query: { user_id: one.userId } })).answer!.items.map(
      (t) => t.id,
    ),
  ).toEqual([id])
  expect(
    (await admin.call(apiTokenList, { query: { user_id: 'all' } })).answer!.total,
  ).toBeGreaterThan(1)
  expect((await admin.call(apiTokenRevoke, { params: { id } })).status).toBe(204)
})

test('names are unique for each user, a repeated request creates one token, and a user has at most fifty', async () => {
  const user = await backend.signIn()
  const body = { name: 'once', scopes: ['servers:read' as const] }
  const both = await Promise.all(
    [1, 2].map(() => user.call(apiTokenCreate, { body }, { idempotencyKey: 'same' })),
  )
  expect(both[0]!.answer).toEqual(both[1]!.answer)
  expect((await user.call(apiTokenCreate, { body })).problem).toMatchObject({
    code: 'name_taken',
    fields: { name: expect.any(String) as string },
  })
  for (let i = 1; i < 50; i++) await withToken(user, ['servers:read'], { name: `token ${i}` })
  expect((await user.call(apiTokenCreate, { body: { ...body, name: 'one more' } })).status).toBe(
    409,
  )
})
