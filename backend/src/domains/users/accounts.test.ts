import { expect, test } from 'vitest'
import { auditList } from '#contract/audit.ts'
import { eventStream } from '#contract/events.ts'
import { apiTokenCreate } from '#contract/people/api-tokens.ts'
import { type Scope, scopesOf } from '#contract/permissions.ts'
import { serverList } from '#contract/servers/servers.ts'
import {
  authorize,
  authorizeRefresh,
  passwordChange,
  passwordReset,
  passwordResetLook,
  sessionEnd,
  sessionGet,
  sessionList,
} from '#contract/sessions.ts'
import {
  userCreate,
  userRemove,
  userResetPassword,
  userUnlock,
  userUpdate,
} from '#contract/users.ts'
import { type Backend, type SignedIn, startBackend } from '../../testing/backend.ts'

const backend = await startBackend()
const admin = await backend.signIn()
const good = 'correct horse battery'

const signIn = (email: string, password: string, on: Backend = backend) =>
  on.call(authorize, { body: { email, password } })
const stands = async ({ accessToken }: Pick<SignedIn, 'accessToken'>, on: Backend = backend) =>
  (await on.call(sessionGet, {}, { headers: { authorization: `Bearer ${accessToken}` } }))
    .status === 200
/** Actions of the audit log about a user, oldest first. */
async function audited(userId: string): Promise<string[]> {
  await backend.publish()
  const { answer } = await admin.call(auditList, { query: { target: userId, per_page: 200 } })
  return answer!.items.map(({ action }) => action).toReversed()
}

/** Opens the live stream. `ended` resolves when the stream has ended. */
async function openStream(url: string, { accessToken }: SignedIn) {
  const response = await fetch(`${url}${eventStream.path}`, {
    headers: { authorization: `Bearer ${accessToken}` },
  })
  const began = performance.now()
  const ended = (async () => {
    try {
      for await (const part of response.body!) void part
    } catch {
      // The server cut the connection.
    }
    return performance.now() - began
  })()
  return { status: response.status, ended }
}

test('renaming, changing the role, disabling and enabling are audited, and repeating them changes nothing', async () => {
  const user = await backend.signIn({ role: 'viewer' })
  const change = (body: { name?: string; role?: 'operator'; disabled?: boolean }) =>
    admin.call(userUpdate, { params: { id: user.userId }, body })
  expect((await change({ name: 'Grace' })).answer).toMatchObject({
    name: 'Grace',
    version: 2,
    disabled_at: null,
  })
  expect((await change({ role: 'operator' })).answer).toMatchObject({
    role: 'operator',
    version: 3,
  })
  expect((await change({ role: 'operator', name: 'Grace' })).answer).toMatchObject({ version: 3 })
  expect((await change({ disabled: true })).answer?.disabled_at).not.toBeNull()
  expect((await signIn(user.email, user.password)).status).toBe(401)
  expect(await stands(user)).toBe(false)
  expect((await change({ disabled: false })).answer).toMatchObject({ disabled_at: null })
  expect((await signIn(user.email, user.password)).status).toBe(200)
  // The ended session stays ended.
  expect(await stands(user)).toBe(false)
  expect((await audited(user.userId)).filter((action) => action === 'user.updated')).toHaveLength(4)
})

test('a change of a user based on an older version is refused', async () => {
  const user = await backend.signIn({ role: 'viewer' })
  await admin.call(
    userUpdate,
    { params: { id: user.userId }, body: { name: 'One' } },
    { ifMatch: 1 },
  )
  expect(
    (
      await admin.call(
        userUpdate,
        { params: { id: user.userId }, body: { name: 'Two' } },
        { ifMatch: 1 },
      )
    ).status,
  ).toBe(412)
})

test('removing a user ends their sessions, and the audit log keeps their actions', async () => {
  const user = await backend.signIn({ role: 'operator' })
  expect((await admin.call(userRemove, { params: { id: user.userId } })).status).toBe(204)
  expect(await stands(user)).toBe(false)
  expect(
    (await backend.call(authorizeRefresh, { body: { refresh_token: user.refreshToken } })).status,
  ).toBe(401)
  expect((await signIn(user.email, user.password)).status).toBe(401)
  expect((await admin.call(userRemove, { params: { id: user.userId } })).status).toBe(404)
  expect(await audited(user.userId)).toEqual([
    'user.created',
    'session.started',
    'session.ended',
    'user.removed',
  ])
  expect(
    (
      await admin.call(userCreate, {
        body: { email: user.email, name: 'Again', role: 'viewer', password: good },
      })
    ).status,
  ).toBe(201)
})

test("the last admin who can sign in can't be removed, disabled or given another role", async () => {
  const own = await startBackend()
  const last = await own.signIn()
  const other = await own.signIn()
  await last.call(userUpdate, { params: { id: other.userId }, body: { disabled: true } })
  const params = { id: last.userId }
  for (const refused of [
    await last.call(userUpdate, { params, body: { disabled: true } }),
    await last.call(userUpdate, { params, body: { role: 'operator' } }),
    await last.call(userRemove, { params }),
  ])
    expect([refused.status, refused.problem?.code, refused.problem?.error]).toEqual([
      409,
      'last_admin',
      'This is the last admin who can sign in: make somebody else an admin first',
    ])
  expect((await last.call(userUpdate, { params, body: { name: 'Still' } })).status).toBe(200)
})

test('if two admins concurrently remove each other’s admin role, one stays admin', async () => {
  const own = await startBackend()
  const [a, b] = [await own.signIn(), await own.signIn()]
  const admins = async () =>
    (
      await own.platform.db.selectFrom('person').select('id').where('role', '=', 'admin').execute()
    ).map(({ id }) => id)
  for (let round = 0; round < 5; round++) {
    const both = await Promise.all([
      a.call(userUpdate, { params: { id: b.userId }, body: { role: 'viewer' } }),
      b.call(userUpdate, { params: { id: a.userId }, body: { role: 'viewer' } }),
    ])
    expect(both.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(both.flatMap(({ problem }) => problem?.code ?? [])).toEqual([
      expect.stringMatching(/^(?:last_admin|forbidden)$/),
    ])
    const [stays] = await admins()
    expect(await admins()).toEqual([stays])
    const [keeper, other] = stays === a.userId ? [a, b] : [b, a]
    await keeper.call(userUpdate, { params: { id: other.userId }, body: { role: 'admin' } })
    own.clock.advance(5_000)
  }
})

test.each(['disable', 'remove', 'demote'] as const)(
  'within 5 s of the call to %s a user, another process refuses that user and ends their open streams',
  async (how) => {
    const beside = await startBackend({ beside: backend })
    const user = await backend.signIn({ role: 'operator' })
    expect(await stands(user, beside)).toBe(true)
    const url = await beside.listen()
    const stream = await openStream(url, user)
    expect(stream.status).toBe(200)
    const params = { id: user.userId }
    if (how === 'disable') await admin.call(userUpdate, { params, body: { disabled: true } })
    else if (how === 'remove') await admin.call(userRemove, { params })
    else await admin.call(userUpdate, { params, body: { role: 'viewer' } })
    expect(await stream.ended).toBeLessThan(5_000)
    const answer = await beside.call(
      serverList,
      {},
      { headers: { authorization: `Bearer ${user.accessToken}` } },
    )
    expect(answer.status).toBe(how === 'demote' ? 200 : 401)
    if (how !== 'demote') return
    const again = await openStream(url, user)
    expect(again.status).toBe(200)
    await admin.call(userRemove, { params })
    await again.ended
  },
)

test('a reset link sets a password once; only a hash of the token is stored, and the link has the token in its fragment', async () => {
  const user = await backend.signIn({ role: 'viewer' })
  const { answer } = await admin.call(userResetPassword, { params: { id: user.userId } })
  const url = new URL(answer!.url)
  expect([url.pathname, url.search]).toEqual(['/auth/reset', ''])
  const token = url.hash.slice(1)
  expect(token).toMatch(/^[\w-]{43}$/)
  expect(
    JSON.stringify(await backend.platform.db.selectFrom('password_reset').selectAll().execute()),
  ).not.toContain(token)
  expect((await backend.call(passwordResetLook, { body: { token } })).answer).toMatchObject({
    email: user.email,
  })
  // The old password is valid until the link is used. A refused password doesn't use up the link.
  expect(await stands(user)).toBe(true)
  const set = (new_password: string) =>
    backend.call(passwordReset, { body: { token, new_password } })
  expect((await set('123qweasdzxc')).problem?.fields).toEqual({
    new_password: 'This password is among the most common ones: choose another',
  })
  const both = await Promise.all([set(good), set(good)])
  expect(both.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([204, 409])
  // The end of a session is announced after the commit.
  await expect.poll(() => stands(user)).toBe(false)
  expect((await signIn(user.email, user.password)).status).toBe(401)
  expect((await signIn(user.email, good)).status).toBe(200)
  expect((await set(good)).problem).toMatchObject({ code: 'link_over' })
  await backend.publish()
  const log = await admin.call(auditList, { query: { target: user.userId, per_page: 200 } })
  expect(log.answer!.items.map(({ action }) => action)).toEqual(
    expect.arrayContaining(['user.password_reset_offered', 'user.password_reset']),
  )
  expect(log.text).not.toContain(token)
})

test('a reset link becomes invalid after 24 h, when a new link is created, or when the user is removed', async () => {
  const user = await backend.signIn({ role: 'viewer' })
  const link = async () =>
    new URL(
      (await admin.call(userResetPassword, { params: { id: user.userId } })).answer!.url,
    ).hash.slice(1)
  const look = async (token: string) =>
    (await backend.call(passwordResetLook, { body: { token } })).status
  const first = await link()
  const second = await link()
  expect([await look(first), await look(second)]).toEqual([409, 200])
  await backend.platform.db
    .updateTable('password_reset')
    .set({ expires_at: new Date(backend.clock.now()) })
    .where('person_id', '=', user.userId)
    .execute()
  expect(await look(second)).toBe(409)
  const third = await link()
  await admin.call(userRemove, { params: { id: user.userId } })
  expect(await look(third)).toBe(409)
})

test('a reset link ends when the role changes, or the user changes the password', async () => {
  const tokenOf = ({ answer }: { answer: { url: string } | undefined }) =>
    new URL(answer!.url).hash.slice(1)
  const use = async (token: string) =>
    (await backend.call(passwordReset, { body: { token, new_password: 'another long password' } }))
      .problem?.code
  const user = await backend.signIn({ role: 'viewer' })
  const params = { id: user.userId }
  // An API token that may not make links for admins.
  const scopes: Scope[] = ['users:manage', ...scopesOf.viewer]
  const { token } = (await admin.call(apiTokenCreate, { body: { name: 'help desk', scopes } }))
    .answer!
  const first = tokenOf(
    await backend.call(
      userResetPassword,
      { params },
      { headers: { authorization: `Bearer ${token}` } },
    ),
  )
  await admin.call(userUpdate, { params, body: { name: 'Renamed' } })
  expect((await backend.call(passwordResetLook, { body: { token: first } })).status).toBe(200)
  await admin.call(userUpdate, { params, body: { role: 'admin' } })
  expect(await use(first)).toBe('link_over')
  const second = tokenOf(await admin.call(userResetPassword, { params }))
  await user.call(passwordChange, { body: { password: user.password, new_password: good } })
  expect(await use(second)).toBe('link_over')
  expect((await signIn(user.email, good)).status).toBe(200)
  expect(
    (await audited(user.userId)).filter((action) => action === 'user.password_reset_withdrawn'),
  ).toHaveLength(2)
})

test('changing the password requires the old password, ends all other sessions, and keeps the current one', async () => {
  const user = await backend.signIn({ role: 'viewer' })
  const other = (await signIn(user.email, user.password)).answer!
  const change = (password: string, new_password: string) =>
    user.call(passwordChange, { body: { password, new_password } })
  expect((await change('not the password', good)).problem?.fields).toEqual({
    password: 'This is not your password',
  })
  expect((await change(user.password, 'short')).status).toBe(422)
  expect((await change(user.password, good)).status).toBe(204)
  expect([await stands(user), await stands(other)]).toEqual([true, false])
  expect([
    (await signIn(user.email, user.password)).status,
    (await signIn(user.email, good)).status,
  ]).toEqual([401, 200])
  expect(await audited(user.userId)).toContain('user.password_changed')
})

test('guesses at the old password are slowed down, and do not block the user’s sign-in', async () => {
  const user = await backend.signIn({ role: 'viewer' })
  const statuses: number[] = []
  for (let n = 0; n < 7; n++)
    statuses.push(
      (await user.call(passwordChange, { body: { password: `guess ${n}`, new_password: good } }))
        .status,
    )
  expect(statuses).toEqual([422, 422, 422, 422, 422, 429, 429])
  expect((await signIn(user.email, user.password)).status).toBe(200)
})

test.each([
  [
    'among the most common',
    '1Q2w3e4r5t6Y',
    'This password is among the most common ones: choose another',
  ],
  [
    'with the name of the email in it',
    'my name is GRACE-h',
    'Choose a password that does not contain the part of the email address before the @',
  ],
  [
    'with the name of the program in it',
    'my SteelYard 2026',
    'Choose a password that does not contain the name of this program',
  ],
])('a password %s is refused', async (_what, password, sentence) => {
  const refused = await admin.call(userCreate, {
    body: { email: 'grace-h@example.com', name: 'Grace', role: 'viewer', password },
  })
  expect([refused.status, refused.problem?.fields]).toEqual([422, { password: sentence }])
})

test("a password may contain the user's name if the name has only three letters", async () => {
  expect(
    (
      await admin.call(userCreate, {
        body: {
          email: 'ada@example.com',
          name: 'Ada',
          role: 'viewer',
          password: 'a granada for you',
        },
      })
    ).status,
  ).toBe(201)
})

test('unlocking an account clears its failed sign-ins from all addresses', async () => {
  const user = await backend.signIn({ role: 'viewer' })
  for (let n = 0; n < 6; n++) await signIn(user.email, 'not the password')
  expect((await signIn(user.email, user.password)).status).toBe(429)
  expect((await admin.call(userUnlock, { params: { id: user.userId } })).answer).toEqual({
    failures_cleared: 5,
  })
  expect((await signIn(user.email, user.password)).status).toBe(200)
  expect(await audited(user.userId)).toContain('user.unlocked')
})

test('users can list and end their own sessions; for the sessions of others they need users:manage', async () => {
  const user = await backend.signIn({ role: 'viewer' })
  const second = (await signIn(user.email, user.password)).answer!
  const own = (await user.call(sessionList)).answer!
  expect(own).toMatchObject({
    total: 2,
    items: [{ user: { email: user.email } }, { user: { email: user.email } }],
  })
  expect(own.items.filter(({ current }) => current)).toHaveLength(1)
  expect((await user.call(sessionList, { query: { user_id: 'all' } })).status).toBe(403)
  expect((await user.call(sessionList, { query: { user_id: admin.userId } })).status).toBe(403)
  const ofAdmin = (await admin.call(sessionList)).answer!.items[0]!
  expect((await user.call(sessionEnd, { params: { id: ofAdmin.id } })).status).toBe(404)
  const other = own.items.find(({ current }) => !current)!
  expect((await user.call(sessionEnd, { params: { id: other.id } })).status).toBe(204)
  expect([await stands(user), await stands(second)]).toEqual([true, false])
  expect((await user.call(sessionEnd, { params: { id: other.id } })).status).toBe(404)
  const seen = (await admin.call(sessionList, { query: { user_id: user.userId } })).answer!
  expect(seen.total).toBe(1)
  expect(
    (await admin.call(sessionList, { query: { user_id: 'all', q: user.email } })).answer!.total,
  ).toBe(1)
  expect((await admin.call(sessionEnd, { params: { id: seen.items[0]!.id } })).status).toBe(204)
  expect(await stands(user)).toBe(false)
})

test('by default a session ends after 8 h without use', async () => {
  const own = await startBackend()
  const [idle, used] = [await own.signIn(), await own.signIn()]
  const refresh = (user: SignedIn) =>
    own.call(authorizeRefresh, { body: { refresh_token: user.refreshToken } })
  own.clock.advance(7.9 * 3600_000)
  expect((await refresh(used)).status).toBe(200)
  own.clock.advance(0.2 * 3600_000)
  expect([(await refresh(idle)).status, (await refresh(used)).status]).toEqual([401, 200])
  const { access_token } = (await refresh(used)).answer!
  expect(
    (
      await own.call(
        sessionList,
        { query: { user_id: 'all' } },
        { headers: { authorization: `Bearer ${access_token}` } },
      )
    ).answer!.total,
  ).toBe(1)
})

test('every call renews the idle limit of its session, and the time of the last use is stored at most once a minute', async () => {
  const own = await startBackend({ environment: { STEELYARD_SESSION_IDLE_HOURS: '0.1' } })
  const user = await own.signIn()
  const used = async () =>
    (
      await own.platform.db.selectFrom('session').select('last_used_at').executeTakeFirstOrThrow()
    ).last_used_at.getTime()
  const began = await used()
  own.clock.advance(50_000)
  await user.call(sessionGet)
  expect(await used()).toBe(began)
  own.clock.advance(10_000)
  await user.call(sessionGet)
  expect(await used()).toBe(began + 60_000)
  own.clock.advance(300_000)
  expect(await stands(user, own)).toBe(true)
  own.clock.advance(359_000)
  expect(await stands(user, own)).toBe(false)
})
