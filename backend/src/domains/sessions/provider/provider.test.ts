import { sql } from 'kysely'
import { beforeEach, expect, test } from 'vitest'
import { auditList } from '#contract/audit.ts'
import { profileGet, sessionProve, sessionProveProvider } from '#contract/people/profile.ts'
import { totpBegin } from '#contract/people/second-factor.ts'
import {
  authorizeProvider,
  authorizeProviderFinish,
  type ProviderAnswer,
  providerCookie,
} from '#contract/people/sign-in.ts'
import { serverList } from '#contract/servers/servers.ts'
import { authorize, authorizeRefresh, sessionGet } from '#contract/sessions.ts'
import { userCreate, userList, userUpdate } from '#contract/users.ts'
import { doctor } from '../../../commands/doctor.ts'
import { logger } from '../../../log.ts'
import { type Backend, startBackend } from '../../../testing/backend.ts'
import { temporaryFolder } from '../../../testing/folder.ts'
import { runCommand } from '../../../testing/surroundings.ts'
import {
  type Account,
  clientId,
  clientSecret,
  lyingProvider,
  realProvider,
} from '../testing/provider.ts'

const publicUrl = 'http://localhost:8080'
const settings = (issuer: string, more: Record<string, string> = {}) => ({
  STEELYARD_PUBLIC_URL: publicUrl,
  STEELYARD_OIDC_ISSUER: issuer,
  STEELYARD_OIDC_CLIENT_ID: clientId,
  STEELYARD_OIDC_CLIENT_SECRET: clientSecret,
  STEELYARD_OIDC_NAME: 'Example ID',
  STEELYARD_OIDC_SCOPES: 'openid email profile groups',
  ...more,
})
const roles = { STEELYARD_OIDC_ROLES: 'ops=operator,admins=admin,everybody=viewer' }

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

/** Begins a sign-in in a browser. */
async function begin(on: Backend = backend, return_to?: string) {
  const begun = await on.call(authorizeProvider, {
    body: { ...(return_to !== undefined && { return_to }) },
  })
  const [cookie] = String(begun.headers['set-cookie'] ?? '').split(';', 1)
  return { ...begun, url: begun.answer?.url ?? '', cookie: cookie! }
}
const finish = (
  answer: ProviderAnswer | Record<string, string>,
  cookie: string,
  on: Backend = backend,
) => on.call(authorizeProviderFinish, { body: answer as ProviderAnswer }, { headers: { cookie } })
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
  const { items } = (
    await admin.call(auditList, { query: { target: userData.id, per_page: 1000 } })
  ).answer!
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

test('the role follows the groups at each sign-in, and existing sessions follow it too; the last admin stays', async () => {
  const own = await startBackend({ environment: settings(id.issuer, roles) })
  const first = (await signIn('root', own)).answer!
  expect((await own.call(sessionGet, {}, as(first.accessToken))).answer!.role).toBe('admin')
  accounts['root'] = { ...accounts['root'], groups: ['everybody'] }
  await signIn('root', own)
  expect((await own.call(userList, {}, as(first.accessToken))).status).toBe(200)
  await own.signIn()
  await signIn('root', own)
  await expect
    .poll(async () => (await own.call(userList, {}, as(first.accessToken))).status, {
      interval: 20,
    })
    .toBe(403)
  accounts['root'] = { ...accounts['root'], groups: ['admins'] }
  expect(
    (await own.call(sessionGet, {}, as((await signIn('root', own)).answer!.accessToken))).answer!
      .role,
  ).toBe('admin')
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

const liar = await lyingProvider()
beforeEach(() => {
  for (const key of Object.keys(liar.lies)) delete liar.lies[key as keyof typeof liar.lies]
})

test.each<[string, () => void, Record<string, string>, string]>([
  [
    'another issuer in its metadata',
    () => void (liar.lies.metadataIssuer = 'https://evil.example'),
    {},
    'it names another issuer',
  ],
  [
    'another issuer in the ID token',
    () => void (liar.lies.claims = { iss: 'https://evil.example' }),
    {},
    'it names another issuer',
  ],
  [
    'another issuer in the query',
    () => undefined,
    { iss: 'https://evil.example' },
    'it names another issuer',
  ],
  [
    'another nonce',
    () => void (liar.lies.claims = { nonce: 'another' }),
    {},
    'its nonce is not the one that Steelyard sent',
  ],
  [
    'another audience',
    () => void (liar.lies.claims = { aud: 'somebody else' }),
    {},
    'it is for another client',
  ],
  [
    'a key that it does not publish',
    () => void (liar.lies.foreignKey = true),
    {},
    'refused the sign-in',
  ],
  [
    'an empty subject',
    () => void (liar.lies.claims = { sub: '' }),
    {},
    'it does not say who you are',
  ],
  [
    'a subject with a NUL',
    () => void (liar.lies.claims = { sub: 'li\0ar' }),
    {},
    'it does not say who you are',
  ],
  [
    'a subject that is no Unicode',
    () => void (liar.lies.claims = { sub: 'liar\ud800' }),
    {},
    'it does not say who you are',
  ],
  [
    'a subject that is too long',
    () => void (liar.lies.claims = { sub: 'x'.repeat(256) }),
    {},
    'it does not say who you are',
  ],
  [
    'a subject that is a list',
    () => void (liar.lies.claims = { sub: ['liar'] }),
    {},
    'refused the sign-in',
  ],
  [
    'a token of the future',
    () => void (liar.lies.issuedAt = Date.now() / 1000 + 3600),
    {},
    'its times are wrong',
  ],
  [
    'a list as email_verified',
    () => void (liar.lies.claims = { email_verified: ['true'] }),
    {},
    'your email address is not verified',
  ],
  [
    'a number as email_verified',
    () => void (liar.lies.claims = { email_verified: 1 }),
    {},
    'your email address is not verified',
  ],
])('a provider with %s signs nobody in', async (_what, lie, query, reason) => {
  const lied = await startBackend({
    environment: settings(liar.issuer, { STEELYARD_OIDC_ROLES: '*=viewer' }),
  })
  lie()
  const begun = await begin(lied)
  const refused = begun.answer
    ? await finish(liar.answerTo(begun.url, query), begun.cookie, lied)
    : begun
  expect([refused.status, refused.problem?.code]).toEqual([409, 'provider_refused'])
  expect(refused.problem?.error).toContain(reason)
  expect(await lied.domains.users.count()).toBe(0)
})

test.each<[string, Record<string, unknown>, Record<string, unknown>]>([
  [
    'only in the ID token',
    { email: undefined, email_verified: true },
    { email: 'used@example.com' },
  ],
  [
    'only in the response of the UserInfo endpoint',
    { email_verified: undefined, groups: undefined },
    { email: 'another@example.com', email_verified: true, groups: ['ops'] },
  ],
])(
  'an email that is verified %s, which does not name it, is not verified',
  async (_what, claims, userInfo) => {
    Object.assign(liar.lies, { claims: { email: 'used@example.com', ...claims }, userInfo })
    const lied = await startBackend({
      environment: settings(liar.issuer, { STEELYARD_OIDC_ROLES: 'ops=viewer,*=viewer' }),
    })
    const admin = await lied.signIn()
    await admin.call(userCreate, {
      body: {
        email: 'used@example.com',
        name: 'Used',
        role: 'viewer',
        password: 'a long password',
      },
    })
    const { url, cookie } = await begin(lied)
    expect((await finish(liar.answerTo(url), cookie, lied)).problem?.error).toContain(
      'does not say that your email address is verified',
    )
  },
)

test('email and verification may both be in the response of the UserInfo endpoint', async () => {
  Object.assign(liar.lies, {
    claims: { email: undefined, email_verified: undefined },
    userInfo: { email: 'used@example.com', email_verified: 'true' },
  })
  const lied = await startBackend({
    environment: settings(liar.issuer, { STEELYARD_OIDC_ROLES: '*=viewer' }),
  })
  const admin = await lied.signIn()
  await admin.call(userCreate, {
    body: { email: 'used@example.com', name: 'Used', role: 'viewer', password: 'a long password' },
  })
  const { url, cookie } = await begin(lied)
  expect((await finish(liar.answerTo(url), cookie, lied)).status).toBe(200)
})

test('an honest answer of the same provider signs in', async () => {
  const lied = await startBackend({
    environment: settings(liar.issuer, { STEELYARD_OIDC_ROLES: '*=viewer' }),
  })
  const { url, cookie } = await begin(lied)
  expect((await finish(liar.answerTo(url), cookie, lied)).answer!.userData.email).toBe(
    'liar@example.com',
  )
})

test.each<[string, () => void]>([
  ['whose metadata are not JSON', () => void (liar.lies.metadata = '<html>')],
  [
    'whose metadata are endless',
    () => void (liar.lies.metadata = JSON.stringify({ x: 'x'.repeat(600_000) })),
  ],
  ['that has an internal error', () => void (liar.lies.status = 500)],
])('a provider %s is reported as unreachable', async (_what, lie) => {
  const lied = await startBackend({
    environment: settings(liar.issuer, { STEELYARD_OIDC_ROLES: '*=viewer' }),
  })
  lie()
  const begun = await begin(lied)
  const refused = begun.answer ? await finish(liar.answerTo(begun.url), begun.cookie, lied) : begun
  expect([refused.status, refused.problem?.code]).toEqual([503, 'provider_unreachable'])
})

test('doctor says whether the provider answers, and which redirect URI it needs', async () => {
  const finding = async (issuer: string) => {
    // The other checks find no data folder; only the one of the provider is of interest.
    const { out } = await runCommand((around) => doctor(['--json'], around), {
      ...settings(issuer),
      STEELYARD_DATA: temporaryFolder('doctor'),
      IMAGE_FACTORY_URL: 'http://127.0.0.1:9',
    })
    return (JSON.parse(out) as { check: string; verdict: string; text: string }[]).find(
      ({ check }) => check === 'identity provider',
    )
  }
  expect(await finding(liar.issuer)).toMatchObject({
    verdict: 'good',
    text: expect.stringContaining(`${publicUrl}/auth/callback`) as string,
  })
  liar.lies.metadataIssuer = 'https://evil.example'
  expect(await finding(liar.issuer)).toMatchObject({
    verdict: 'warning',
    text: expect.stringContaining('it names another issuer') as string,
  })
})

test('a provider that is down is asked again at the next sign-in, and passwords still work', async () => {
  const down = await lyingProvider()
  await down.stop()
  const lines: string[] = []
  const log = logger({
    level: 'debug',
    readable: false,
    now: Date.now,
    write: (line) => void lines.push(line),
  })
  const lied = await startBackend({ environment: settings(down.issuer), log })
  const refused = await begin(lied)
  expect(lines.find((line) => line.includes('provider.failed'))).toContain('ECONNREFUSED')
  expect([refused.status, refused.problem?.error]).toEqual([
    503,
    'Example ID does not answer, or its answer cannot be read. Try again later.',
  ])
  const user = await lied.signIn()
  expect((await user.call(sessionGet)).status).toBe(200)
})

test('no secret of a sign-in reaches the log, the audit log or the database', async () => {
  const lines: string[] = []
  const log = logger({
    level: 'debug',
    readable: false,
    now: Date.now,
    write: (line) => void lines.push(line),
  })
  const lied = await startBackend({
    environment: settings(liar.issuer, { STEELYARD_OIDC_ROLES: '*=viewer' }),
    log,
  })
  const secrets = new Set([clientSecret, encodeURIComponent(clientSecret)])
  const attempt = async (code: string, status: number) => {
    const { url, cookie } = await begin(lied)
    const answer = { ...liar.answerTo(url), code }
    expect((await finish(answer, cookie, lied)).status).toBe(status)
    const asked = new URL(url).searchParams
    for (const secret of [
      code,
      cookie.split('=')[1]!,
      asked.get('nonce')!,
      asked.get('code_challenge')!,
    ])
      secrets.add(secret)
  }
  await attempt('a code of the provider that is right', 200)
  for (const lie of [
    { foreignKey: true },
    { status: 500 },
    { claims: { nonce: 'another nonce that the provider made up' } },
  ]) {
    Object.assign(liar.lies, lie)
    await attempt(`a code of the provider for ${JSON.stringify(lie)}`, 'status' in lie ? 503 : 409)
    for (const key of Object.keys(lie)) delete liar.lies[key as keyof typeof liar.lies]
  }
  for (const sent of liar.sent) secrets.add(sent)
  await lied.publish()
  const { db } = lied.platform
  const known = (
    await sql<{
      name: string
    }>`select table_name as name from information_schema.tables where table_schema = 'public'`.execute(
      db,
    )
  ).rows
  const rows = await Promise.all(
    known.map(async ({ name }) =>
      (
        await sql<{ text: string }>`select t::text as text from ${sql.table(name)} as t`.execute(db)
      ).rows.map(({ text }) => text),
    ),
  )
  const everything = [...lines, ...rows.flat()].join('\n')
  expect(lines.filter((line) => line.includes('provider.failed')).length).toBe(3)
  expect(everything).toContain('liar@example.com')
  expect(secrets.size).toBeGreaterThan(16)
  expect([...secrets].filter((secret) => everything.includes(secret))).toEqual([])
})
