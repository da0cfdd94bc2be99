import { expect, test } from 'vitest'
import { auditList } from '#contract/audit.ts'
import { apiTokenCreate } from '#contract/people/api-tokens.ts'
import { invitationCreate, invitationLook } from '#contract/people/invitations.ts'
import { profileGet, sessionProve, sessionProveProvider } from '#contract/people/profile.ts'
import { totpBegin } from '#contract/people/second-factor.ts'
import {
  authorizeProvider,
  authorizeProviderFinish,
  type ProviderAnswer,
  providerCookie,
} from '#contract/people/sign-in.ts'
import { serverList } from '#contract/servers/servers.ts'
import { authorize, authorizeRefresh, passwordResetLook, sessionGet } from '#contract/sessions.ts'
import { userCreate, userList, userResetPassword, userUpdate } from '#contract/users.ts'
import { type Backend, startBackend } from '../../../testing/backend.ts'
import { type Account, realProvider } from '../testing/provider.ts'
import { beginAt, finishAt, publicUrl, settings, roles } from './testing.ts'

const accounts: Record<string, Account> = {
  grace: {
    email: 'Grace@example.com',
    email_verified: true,
    name: 'Grace Hopper',
    groups: ['ops', 'cafeteria'],
  },
  root: { email: 'root@example.com', email_verified: true, groups: ['admins'] },
  nobody: { email: 'nobody@example.com', email_verified: true, groups: ['cafeteria'] },
  unverified: { email: 'unverified@example.com', email_verified: false, groups: ['ops'] },
  mute: { name: 'Mute', groups: ['ops'] },
}
const id = await realProvider(accounts, publicUrl)
const backend = await startBackend({ environment: settings(id.issuer, roles) })

const begin = (on: Backend = backend, returnTo?: string) => beginAt(on, returnTo)
const finish = (answer: Parameters<typeof finishAt>[0], cookie: string, on: Backend = backend) =>
  finishAt(answer, cookie, on)
/** The whole sign-in of an account. */
async function signIn(account: string | undefined, on: Backend = backend) {
  const { url, cookie } = await begin(on)
  return finish(await id.visit(url, account), cookie, on)
}
const as = (accessToken: string) => ({ headers: { authorization: `Bearer ${accessToken}` } })

test('a user of the provider signs in, is added with the role of their groups, and is the same user the next time', async () => {
  const { url, cookie, headers } = await begin(backend, '/infra/servers')
  const asked = new URL(url).searchParams
  expect(asked.get('code_challenge_method')).toBe('S256')
  expect(asked.get('redirect_uri')).toBe(`${publicUrl}/auth/callback`)
  expect(String(headers['set-cookie'])).toMatch(
    new RegExp(
      `^${providerCookie}=[\\w-]{43}; Path=/v1/authorize; Max-Age=600; HttpOnly; SameSite=Strict$`,
    ),
  )
  const signed = await finish(await id.visit(url, 'grace'), cookie)
  expect(signed).toMatchObject({
    status: 200,
    answer: {
      userData: { email: 'grace@example.com', name: 'Grace Hopper' },
      return_to: '/infra/servers',
    },
  })
  const { accessToken, userData } = signed.answer!
  expect((await backend.call(serverList, {}, as(accessToken))).status).toBe(200)
  expect((await backend.call(profileGet, {}, as(accessToken))).answer).toMatchObject({
    role: 'operator',
    method: 'provider',
    has_password: false,
    has_provider: true,
  })
  expect((await signIn('grace')).answer!.userData.id).toBe(userData.id)
  // Without a password, the account can't be entered by one.
  expect(
    (
      await backend.call(authorize, {
        body: { email: 'grace@example.com', password: 'anything at all' },
      })
    ).status,
  ).toBe(401)
  const admin = await backend.signIn()
  await backend.publish()
  const { items } = (await admin.call(auditList, { query: { target: userData.id, per_page: 200 } }))
    .answer!
  expect(items.map((e) => e.action).toReversed()).toEqual([
    'user.created',
    'user.provider_linked',
    'session.started',
    'session.started',
    'session.refused',
  ])
})

test('a sign-in is finished once, only in the browser that began it, and within ten minutes', async () => {
  const one = await begin()
  const answer = await id.visit(one.url, 'grace')
  const stranger = await begin()
  expect((await finish(answer, stranger.cookie)).problem?.code).toBe('challenge_over')
  // The attempt of another browser doesn't use up the sign-in.
  expect((await finish(answer, one.cookie)).status).toBe(200)
  const two = await begin()
  const theirs = await id.visit(two.url, 'grace')
  expect((await finish(theirs, '')).problem?.code).toBe('challenge_over')
  expect((await finish(theirs, two.cookie)).status).toBe(200)
  expect((await finish(theirs, two.cookie)).problem?.code).toBe('challenge_over')
  const late = await begin()
  const slow = await id.visit(late.url, 'grace')
  backend.clock.advance(10 * 60_000)
  expect((await finish(slow, late.cookie)).problem?.code).toBe('challenge_over')
  for (const state of [
    '',
    'sign-in.',
    'proof.00000000-0000-4000-8000-000000000001',
    "sign-in.' OR 1=1",
    'x'.repeat(200),
  ])
    expect([409, 422]).toContain((await finish({ state, code: 'x' }, late.cookie)).status)
})

test('over HTTPS the cookie has the prefix __Secure-, and one without it does not count', async () => {
  const own = await startBackend({
    environment: { ...settings(id.issuer, roles), STEELYARD_TRUSTED_PROXIES: '127.0.0.1/32' },
  })
  const https = { 'x-forwarded-for': '10.0.0.1', 'x-forwarded-proto': 'https' }
  const begun = await own.call(authorizeProvider, { body: {} }, { headers: https })
  expect(String(begun.headers['set-cookie'])).toMatch(
    /^__Secure-steelyard_provider=[\w-]{43}; .*; Secure$/,
  )
  const [cookie] = String(begun.headers['set-cookie']).split(';', 1)
  const answer = (await id.visit(begun.answer!.url, 'grace')) as unknown as ProviderAnswer
  const end = (given: string) =>
    own.call(authorizeProviderFinish, { body: answer }, { headers: { ...https, cookie: given } })
  expect((await end(cookie!.replace('__Secure-', ''))).problem?.code).toBe('challenge_over')
  expect((await end(cookie!)).status).toBe(200)
})

test('a browser can begin several sign-ins and finish each of them', async () => {
  const first = await begin()
  const again = await backend.call(
    authorizeProvider,
    { body: {} },
    { headers: { cookie: first.cookie } },
  )
  expect(String(again.headers['set-cookie'])).toContain(first.cookie)
  expect((await finish(await id.visit(again.answer!.url, 'grace'), first.cookie)).status).toBe(200)
  expect((await finish(await id.visit(first.url, 'grace'), first.cookie)).status).toBe(200)
})

test.each([
  ['cancels', undefined, 'Example ID refused the sign-in, or you cancelled it there.'],
  [
    'has no group with a role',
    'nobody',
    'None of your groups at Example ID may use Steelyard. Ask an administrator of Steelyard.',
  ],
  [
    'has an unverified email',
    'unverified',
    'Example ID says that your email address is not verified. Verify it there first.',
  ],
  [
    'has no email',
    'mute',
    'Example ID does not say your email address. Ask its administrator to give Steelyard the claim email.',
  ],
])(
  'somebody who %s is refused with the reason, and no user is added',
  async (_what, account, error) => {
    const admin = await backend.signIn()
    const total = async () => (await admin.call(userList)).answer!.total
    const before = await total()
    const refused = await signIn(account)
    expect([refused.status, refused.problem?.code, refused.problem?.error]).toEqual([
      409,
      'provider_refused',
      error,
    ])
    expect(refused.headers['set-cookie']).toBeUndefined()
    expect(await total()).toBe(before)
  },
)

test('the role follows the groups at each sign-in, and existing sessions and links follow it too; the last admin stays', async () => {
  const own = await startBackend({ environment: settings(id.issuer, roles) })
  const first = (await signIn('root', own)).answer!
  const linked = await own.signIn({ role: 'viewer' })
  const tokenOf = (url: string) => ({ token: new URL(url).hash.slice(1) })
  const invitation = (
    await own.call(
      invitationCreate,
      { body: { email: 'friend@example.com', name: 'Friend', role: 'admin' } },
      as(first.accessToken),
    )
  ).answer!.url
  const reset = (
    await own.call(userResetPassword, { params: { id: linked.userId } }, as(first.accessToken))
  ).answer!.url
  const looks = async () => [
    (await own.call(invitationLook, { body: tokenOf(invitation) })).status,
    (await own.call(passwordResetLook, { body: tokenOf(reset) })).status,
  ]
  expect((await own.call(sessionGet, {}, as(first.accessToken))).answer!.role).toBe('admin')
  accounts['root'] = { ...accounts['root'], groups: ['everybody'] }
  await signIn('root', own)
  expect((await own.call(userList, {}, as(first.accessToken))).status).toBe(200)
  expect(await looks()).toEqual([200, 200])
  const other = await own.signIn()
  await signIn('root', own)
  expect(await looks()).toEqual([409, 409])
  await expect
    .poll(async () => (await own.call(userList, {}, as(first.accessToken))).status, {
      interval: 20,
    })
    .toBe(403)
  const ownReset = await own.call(
    userResetPassword,
    { params: { id: first.userData.id } },
    as(other.accessToken),
  )
  accounts['root'] = { ...accounts['root'], groups: ['admins'] }
  expect(
    (await own.call(sessionGet, {}, as((await signIn('root', own)).answer!.accessToken))).answer!
      .role,
  ).toBe('admin')
  // The link was made for the lower role.
  expect(
    (await own.call(passwordResetLook, { body: tokenOf(ownReset.answer!.url) })).problem?.code,
  ).toBe('link_over')
})

test('somebody without any of the groups is refused, and loses sessions, API tokens and links; the last admin keeps them', async () => {
  const own = await startBackend({ environment: settings(id.issuer, roles) })
  accounts['leaver'] = { email: 'leaver@example.com', email_verified: true, groups: ['admins'] }
  const { accessToken } = (await signIn('leaver', own)).answer!
  const { token } = (
    await own.call(
      apiTokenCreate,
      { body: { name: 'ci', scopes: ['servers:read'] } },
      as(accessToken),
    )
  ).answer!
  const { url } = (
    await own.call(
      invitationCreate,
      { body: { email: 'friend@example.com', name: 'Friend', role: 'admin' } },
      as(accessToken),
    )
  ).answer!
  const stands = async () => [
    (await own.call(sessionGet, {}, as(accessToken))).status,
    (await own.call(serverList, {}, as(token))).status,
    (await own.call(invitationLook, { body: { token: new URL(url).hash.slice(1) } })).status,
  ]
  const refused = async () => (await signIn('leaver', own)).problem?.error
  const reason = expect.stringMatching(/^None of your groups/) as string
  accounts['leaver'] = { ...accounts['leaver'], groups: ['cafeteria'] }
  expect([await refused(), await stands()]).toEqual([reason, [200, 200, 200]])
  const admin = await own.signIn()
  // A provider that says nothing about groups may only lack a setting.
  accounts['leaver'] = { email: 'leaver@example.com', email_verified: true }
  expect([await refused(), await stands()]).toEqual([reason, [200, 200, 200]])
  accounts['leaver'] = { ...accounts['leaver'], groups: ['cafeteria'] }
  expect(await refused()).toEqual(reason)
  await expect.poll(stands, { interval: 20 }).toEqual([401, 401, 409])
  await own.publish()
  const actions = (await admin.call(auditList, { query: { per_page: 200 } })).answer!.items.map(
    ({ action }) => action,
  )
  expect(actions).toEqual(
    expect.arrayContaining(['session.ended', 'api_token.revoked', 'invitation.removed']),
  )
})

test('without a map of roles, only users of Steelyard sign in, with the role that they have here', async () => {
  const own = await startBackend({ environment: settings(id.issuer) })
  const refused = await signIn('grace', own)
  expect(refused.problem?.error).toBe(
    'There is no user grace@example.com here. Ask an administrator of Steelyard to add you.',
  )
  const admin = await own.signIn()
  await admin.call(userCreate, {
    body: { email: 'grace@example.com', name: 'Grace', role: 'viewer' },
  })
  const signed = await signIn('grace', own)
  expect((await own.call(sessionGet, {}, as(signed.answer!.accessToken))).answer).toMatchObject({
    role: 'viewer',
    user: { name: 'Grace' },
  })
})

test('an account with a password is linked only to a verified email, and each user to one account of the provider', async () => {
  const own = await startBackend({ environment: settings(id.issuer, roles) })
  const admin = await own.signIn()
  await admin.call(userCreate, {
    body: {
      email: 'vague@example.com',
      name: 'Vague',
      role: 'viewer',
      password: 'a long password',
    },
  })
  accounts['vague'] = { email: 'vague@example.com', groups: ['ops'] }
  expect((await signIn('vague', own)).problem?.error).toContain(
    'does not say that your email address is verified',
  )
  accounts['vague'] = { ...accounts['vague'], email_verified: true }
  expect((await signIn('vague', own)).status).toBe(200)
  // The address was given to somebody else.
  accounts['successor'] = { email: 'vague@example.com', email_verified: true, groups: ['admins'] }
  expect((await signIn('successor', own)).problem?.error).toContain('belongs to another account')
})

test('two first sign-ins of an account at the same moment are one user', async () => {
  const own = await startBackend({ environment: settings(id.issuer, roles) })
  const both = await Promise.all([begin(own), begin(own)])
  const answers = [await id.visit(both[0].url, 'grace'), await id.visit(both[1].url, 'grace')]
  const signed = await Promise.all(both.map(({ cookie }, i) => finish(answers[i]!, cookie, own)))
  expect(signed.map(({ status }) => status)).toEqual([200, 200])
  expect(new Set(signed.map(({ answer }) => answer!.userData.id)).size).toBe(1)
  expect(await own.domains.users.count()).toBe(1)
})

test('a user who has signed in before is linked only to a verified email, also without a password', async () => {
  const own = await startBackend({ environment: settings(id.issuer, roles) })
  const admin = await own.signIn()
  const { id: person } = (
    await admin.call(userCreate, {
      body: { email: 'used@example.com', name: 'Used', role: 'viewer' },
    })
  ).answer!
  await own.platform.db
    .updateTable('person')
    .set({ last_sign_in_at: new Date(own.clock.now()) })
    .where('id', '=', person)
    .execute()
  accounts['used'] = { email: 'used@example.com', groups: ['ops'] }
  expect((await signIn('used', own)).problem?.error).toContain(
    'does not say that your email address is verified',
  )
  accounts['new'] = { email: 'new@example.com', groups: ['ops'] }
  await admin.call(userCreate, { body: { email: 'new@example.com', name: 'New', role: 'viewer' } })
  expect((await signIn('new', own)).status).toBe(200)
})

test.each([
  '//evil.example',
  '/\\\\evil.example',
  '/\t/evil.example',
  '/\n//evil.example',
  'https://evil.example',
  'infra',
  `/${'x'.repeat(2000)}`,
])('a sign-in does not lead to %j afterwards', async (return_to) => {
  expect((await begin(backend, return_to)).problem).toMatchObject({
    code: 'invalid',
    fields: { return_to: expect.any(String) as string },
  })
})

test('a disabled user is refused', async () => {
  const own = await startBackend({ environment: settings(id.issuer, roles) })
  const { userData } = (await signIn('grace', own)).answer!
  const admin = await own.signIn()
  await admin.call(userUpdate, { params: { id: userData.id }, body: { disabled: true } })
  expect((await signIn('grace', own)).problem?.error).toContain('disabled')
})

test('a user without a password proves their identity at the provider, as themselves', async () => {
  const own = await startBackend({ environment: settings(id.issuer, roles) })
  const { accessToken, refreshToken } = (await signIn('grace', own)).answer!
  expect((await own.call(totpBegin, {}, as(accessToken))).status).toBe(200)
  own.clock.advance(15 * 60_000)
  const { access_token } = (
    await own.call(authorizeRefresh, { body: { refresh_token: refreshToken } })
  ).answer!
  const me = as(access_token)
  expect((await own.call(totpBegin, {}, me)).problem?.code).toBe('proof_needed')
  const prove = async (account: string) => {
    const { url } = (
      await own.call(sessionProveProvider, { body: { return_to: '/infra/clusters' } }, me)
    ).answer!
    expect(new URL(url).searchParams.get('prompt')).toBe('login')
    const provider = (await id.visit(url, account)) as unknown as ProviderAnswer
    return { provider, answer: await own.call(sessionProve, { body: { provider } }, me) }
  }
  expect((await prove('root')).answer.problem).toMatchObject({
    code: 'provider_refused',
    error: 'You signed in at Example ID as somebody else.',
  })
  expect((await own.call(totpBegin, {}, me)).problem?.code).toBe('proof_needed')
  const { provider, answer } = await prove('grace')
  expect(answer.answer).toMatchObject({ return_to: '/infra/clusters' })
  expect((await own.call(totpBegin, {}, me)).status).toBe(200)
  // The answer of a proof neither proves twice nor signs in.
  expect((await own.call(sessionProve, { body: { provider } }, me)).problem?.code).toBe(
    'challenge_over',
  )
  expect((await finish(provider, '', own)).problem?.code).toBe('challenge_over')
})

test('local sign-in can be switched off', async () => {
  const environment = { ...settings(id.issuer, roles), STEELYARD_LOCAL_SIGN_IN: '0' }
  const own = await startBackend({ environment })
  await own.domains.users.create(
    { kind: 'system', name: 'test' },
    { email: 'local@example.com', name: 'L', role: 'admin', password: 'a long password' },
  )
  const refused = await own.call(authorize, {
    body: { email: 'local@example.com', password: 'a long password' },
  })
  expect([refused.status, refused.problem?.code]).toEqual([403, 'forbidden'])
  expect((await signIn('grace', own)).status).toBe(200)
})
