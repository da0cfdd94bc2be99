/** Providers that lie, fail or are down: what they send signs nobody in. */
import { sql } from 'kysely'
import { beforeEach, expect, test } from 'vitest'
import { sessionGet } from '#contract/sessions.ts'
import { userCreate } from '#contract/users.ts'
import { doctor } from '../../../commands/doctor.ts'
import { logger } from '../../../log.ts'
import { startBackend } from '../../../testing/backend.ts'
import { temporaryFolder } from '../../../testing/folder.ts'
import { runCommand } from '../../../testing/surroundings.ts'
import { clientSecret, lyingProvider } from '../testing/provider.ts'
import { beginAt as begin, finishAt as finish, publicUrl, settings } from './testing.ts'

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
  expect(lines.find((line) => line.includes('provider.failed'))).toContain('connection refused')
  expect([refused.status, refused.problem?.error]).toEqual([503, 'Example ID refuses connections'])
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
