import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { decodeJwt, decodeProtectedHeader, SignJWT, UnsecuredJWT } from 'jose'
import { expect, test } from 'vitest'
import { auditList } from '#contract/audit.ts'
import { preferencesGet, preferencesPut } from '#contract/people/preferences.ts'
import { authorize, authorizeLogout, authorizeRefresh, sessionGet } from '#contract/sessions.ts'
import { userCreate, userList } from '#contract/users.ts'
import { testClock } from '../../testing/clock.ts'
import { silent } from '../../log.ts'
import { type Backend, type SignedIn, startBackend } from '../../testing/backend.ts'
import { rotationKey } from '../../vault/vault.ts'
import { sessionParts } from './domain.ts'
import { openSessions } from './open-sessions.ts'
import { sessions } from './sessions.ts'
import { tokens } from './tokens.ts'

const backend = await startBackend()

/** Calls the session validation with any token. */
const validate = (token: string, on: Backend = backend) =>
  on.call(sessionGet, {}, { headers: { authorization: `Bearer ${token}` } })
const refresh = (refresh_token: string, rotate?: boolean, on: Backend = backend) =>
  on.call(authorizeRefresh, { body: { refresh_token, ...(rotate !== undefined && { rotate }) } })

test('a signed-in user can read their own account and scopes', async () => {
  const viewer = await backend.signIn({ role: 'viewer' })
  const { status, answer } = await viewer.call(sessionGet)
  expect(status).toBe(200)
  expect(answer).toMatchObject({ user: { id: viewer.userId, email: viewer.email } })
  expect(answer!.scopes).toContain('servers:read')
  expect(answer!.scopes).not.toContain('servers:write')
  expect(Date.parse(answer!.expiresAt) - backend.clock.now()).toBeGreaterThan(590_000)
})

test('the access token has the specified claims and lasts ten minutes', async () => {
  const { accessToken, userId, email } = await backend.signIn({ role: 'operator' })
  expect(decodeProtectedHeader(accessToken)).toMatchObject({ alg: 'EdDSA', typ: 'JWT' })
  const claims = decodeJwt(accessToken)
  expect(claims).toMatchObject({ sub: userId, email, iss: 'steelyard', aud: 'steelyard-api' })
  expect(claims.exp! - claims.iat!).toBe(600)
  expect(claims['scopes']).toContain('secrets:read')
})

test('a sign-in returns the user with id, email and name, and both tokens', async () => {
  const { email, userId, password } = await backend.signIn()
  const { answer } = await backend.call(authorize, { body: { email, password } })
  expect(answer).toEqual({
    userData: { id: userId, email, name: expect.any(String) as string },
    accessToken: expect.any(String) as string,
    refreshToken: expect.any(String) as string,
  })
})

test('an unknown email and a wrong password are refused with the same message', async () => {
  const { email } = await backend.signIn()
  const wrong = await backend.call(authorize, { body: { email, password: 'not the password' } })
  const unknown = await backend.call(authorize, {
    body: { email: 'nobody@example.com', password: 'not the password' },
  })
  for (const refused of [wrong, unknown]) {
    expect(refused.status).toBe(401)
    expect(refused.problem).toMatchObject({
      error: 'Invalid email or password',
      code: 'invalid_credentials',
    })
  }
})

test('the email is trimmed at sign-in, the password is not', async () => {
  const admin = await backend.signIn()
  const password = '  blanks around me  '
  await admin.call(userCreate, {
    body: { email: 'Spaces@Example.com', name: 'S', role: 'viewer', password },
  })
  expect(
    (await backend.call(authorize, { body: { email: ' spaces@example.com ', password } })).status,
  ).toBe(200)
  expect(
    (
      await backend.call(authorize, {
        body: { email: 'spaces@example.com', password: password.trim() },
      })
    ).status,
  ).toBe(401)
})

test('the access token expires after ten minutes, to the second', async () => {
  const { accessToken } = await backend.signIn()
  backend.clock.advance(599_000)
  expect((await validate(accessToken)).status).toBe(200)
  backend.clock.advance(1_000)
  expect((await validate(accessToken)).problem).toMatchObject({ code: 'session_expired' })
})

test('a session ends 24 h after sign-in, however often it was refreshed', async () => {
  const own = await startBackend()
  let { refreshToken } = await own.signIn()
  for (let hour = 1; hour < 24; hour++) {
    own.clock.advance(3600_000)
    const { answer } = await refresh(refreshToken, true, own)
    refreshToken = answer!.refresh_token!
  }
  own.clock.advance(3600_000)
  expect((await refresh(refreshToken, true, own)).status).toBe(401)
})

test('a refresh without rotate returns only an access token, and the refresh token stays valid', async () => {
  const { refreshToken } = await backend.signIn()
  for (let i = 0; i < 3; i++) {
    backend.clock.advance(60_000)
    const { status, answer } = await refresh(refreshToken)
    expect(status).toBe(200)
    expect(Object.keys(answer!)).toEqual(['access_token'])
    expect((await validate(answer!.access_token)).status).toBe(200)
  }
})

test('a refresh with rotate replaces the refresh token; a repeat within the grace period gets the same successor token', async () => {
  const { refreshToken } = await backend.signIn()
  const first = await refresh(refreshToken, true)
  backend.clock.advance(9_000)
  const lost = await refresh(refreshToken, true)
  expect(first.answer!.refresh_token).not.toBe(refreshToken)
  expect(lost.answer!.refresh_token).toBe(first.answer!.refresh_token)
  expect((await refresh(first.answer!.refresh_token!, true)).status).toBe(200)
})

test('a session replaces its refresh token 60 times at once, then once a minute; without rotate it has no limit', async () => {
  const [one, another] = [await backend.signIn(), await backend.signIn()]
  let token = one.refreshToken
  const next = async () => {
    const answered = await refresh(token, true)
    token = answered.answer?.refresh_token ?? token
    return answered
  }
  for (let i = 0; i < 60; i++) expect((await next()).status).toBe(200)
  expect(await next()).toMatchObject({ status: 429, problem: { code: 'throttled' } })
  expect((await refresh(token)).status).toBe(200)
  expect((await refresh(another.refreshToken, true)).status).toBe(200)
  backend.clock.advance(60_000)
  expect((await next()).status).toBe(200)
})

test('ten concurrent refreshes get the same successor token', async () => {
  const { refreshToken } = await backend.signIn()
  const all = await Promise.all(Array.from({ length: 10 }, () => refresh(refreshToken, true)))
  expect(all.map((a) => a.status)).toEqual(Array.from({ length: 10 }, () => 200))
  expect(new Set(all.map((a) => a.answer!.refresh_token)).size).toBe(1)
})

test('using a replaced refresh token after the grace period revokes all tokens of the session, and is audited', async () => {
  const admin = await backend.signIn()
  const { refreshToken, userId } = await backend.signIn()
  const owner = await refresh(refreshToken, true)
  backend.clock.advance(10_000)
  expect((await refresh(refreshToken, true)).status).toBe(401)
  expect((await validate(owner.answer!.access_token)).status).toBe(401)
  expect((await refresh(owner.answer!.refresh_token!, true)).status).toBe(401)
  await backend.publish()
  const { answer } = await admin.call(auditList, {
    query: { action: 'session.refresh_reuse', target: userId },
  })
  expect(answer!.total).toBe(1)
})

test('logging out ends the session and its access token at once, and can be repeated', async () => {
  const { accessToken, refreshToken } = await backend.signIn()
  expect((await validate(accessToken)).status).toBe(200)
  for (let i = 0; i < 2; i++) {
    const ended = await backend.call(authorizeLogout, { body: { refresh_token: refreshToken } })
    expect([ended.status, ended.headers['clear-site-data']]).toEqual([204, '"storage"'])
  }
  expect((await validate(accessToken)).status).toBe(401)
  expect((await refresh(refreshToken)).status).toBe(401)
  expect(
    (await backend.call(authorizeLogout, { body: { refresh_token: 'never was one' } })).status,
  ).toBe(204)
})

test.each(['at the same time as', 'right before'])(
  'a refresh %s a sign-out gives no tokens that are valid after it',
  async (when) => {
    for (let round = 0; round < 10; round++) {
      const { refreshToken } = await backend.signIn()
      const refreshed = refresh(refreshToken, true)
      if (when === 'right before') await refreshed
      await backend.call(authorizeLogout, { body: { refresh_token: refreshToken } })
      const { answer } = await refreshed
      const [access, next] = [answer?.access_token ?? '', answer?.refresh_token ?? 'none']
      expect([(await validate(access)).status, (await refresh(next, true)).status]).toEqual([
        401, 401,
      ])
    }
  },
)

test('a session ended in one process ends in every process at once', async () => {
  const beside = await startBackend({ beside: backend, clock: backend.clock })
  const { accessToken, refreshToken } = await backend.signIn()
  expect((await validate(accessToken, beside)).status).toBe(200)
  await backend.call(authorizeLogout, { body: { refresh_token: refreshToken } })
  await expect
    .poll(async () => (await validate(accessToken, beside)).status, { interval: 20 })
    .toBe(401)
})

test('a disabled user loses access within five seconds', async () => {
  const { accessToken, refreshToken, userId } = await backend.signIn()
  expect((await validate(accessToken)).status).toBe(200)
  await backend.platform.db
    .updateTable('person')
    .set({ disabled_at: new Date() })
    .where('id', '=', userId)
    .execute()
  backend.clock.advance(4_900)
  expect((await validate(accessToken)).status).toBe(401)
  expect((await refresh(refreshToken)).status).toBe(401)
})

test('when a user loses a role, existing tokens lose its scopes', async () => {
  const { call, userId } = await backend.signIn({ role: 'admin' })
  expect((await call(userList)).status).toBe(200)
  await backend.platform.db
    .updateTable('person')
    .set({ role: 'viewer' })
    .where('id', '=', userId)
    .execute()
  backend.clock.advance(5_000)
  expect((await call(userList)).status).toBe(403)
})

test('preferences are stored per user', async () => {
  const [a, b] = [await backend.signIn(), await backend.signIn()]
  expect((await a.call(preferencesGet)).answer).toEqual({})
  await a.call(preferencesPut, { body: { theme: 'light', columns: { servers: ['name'] } } })
  expect((await a.call(preferencesGet)).answer).toEqual({
    theme: 'light',
    columns: { servers: ['name'] },
  })
  expect((await b.call(preferencesGet)).answer).toEqual({})
})

/** Names of the tokens that were not refused. */
async function accepted(tokens: Record<string, string>): Promise<string[]> {
  const answers = await Promise.all(
    Object.entries(tokens).map(
      async ([name, token]) => [name, (await validate(token)).status] as const,
    ),
  )
  return answers.filter(([, status]) => status !== 401).map(([name]) => name)
}

const claimsOf = (user: SignedIn) => decodeJwt(user.accessToken)
const sign = (
  key: Parameters<SignJWT['sign']>[0],
  header: Parameters<SignJWT['setProtectedHeader']>[0],
  claims: Record<string, unknown>,
) => new SignJWT(claims).setProtectedHeader(header).sign(key)
const foreign = generateKeyPairSync('ed25519')

test('a forged token is refused', async () => {
  const user = await backend.signIn()
  const kid = decodeProtectedHeader(user.accessToken).kid!
  const jwk = (
    await backend.platform.db
      .selectFrom('signing_key')
      .select('public_jwk')
      .where('id', '=', kid)
      .executeTakeFirstOrThrow()
  ).public_jwk
  const claims = claimsOf(user)
  const [head, body, signature] = user.accessToken.split('.') as [string, string, string]
  const forged: Record<string, string> = {
    'alg none': new UnsecuredJWT(claims).encode(),
    'HMAC with the public key': await sign(
      Buffer.from(JSON.stringify(jwk)),
      { alg: 'HS256', kid, typ: 'JWT' },
      claims,
    ),
    'HMAC with the raw public key': await sign(
      Buffer.from(String(jwk['x']), 'base64url'),
      { alg: 'HS256', kid, typ: 'JWT' },
      claims,
    ),
    'another key under our id': await sign(
      foreign.privateKey,
      { alg: 'EdDSA', kid, typ: 'JWT' },
      claims,
    ),
    'a key of its own': await sign(
      foreign.privateKey,
      { alg: 'EdDSA', kid: randomUUID(), typ: 'JWT' },
      claims,
    ),
    'a key in its header': await sign(
      foreign.privateKey,
      { alg: 'EdDSA', jwk: foreign.publicKey.export({ format: 'jwk' }), typ: 'JWT' },
      claims,
    ),
    'a key at a URL': await sign(
      foreign.privateKey,
      { alg: 'EdDSA', kid, jku: 'https://evil.example/keys', typ: 'JWT' },
      claims,
    ),
    'no key id': await sign(foreign.privateKey, { alg: 'EdDSA', typ: 'JWT' }, claims),
    'another body': `${head}.${Buffer.from(JSON.stringify({ ...claims, scopes: ['users:manage'] })).toString('base64url')}.${signature}`,
    'no signature': `${head}.${body}.`,
    'half of it': user.accessToken.slice(0, user.accessToken.length / 2),
    'a refresh token': user.refreshToken,
    nothing: 'x',
  }
  expect(await accepted(forged)).toEqual([])
  expect((await validate(user.accessToken)).status).toBe(200)
})

test('a token signed with the right key but wrong claims is refused', async () => {
  const user = await backend.signIn()
  const kid = decodeProtectedHeader(user.accessToken).kid!
  const { private_sealed } = await backend.platform.db
    .selectFrom('signing_key')
    .select('private_sealed')
    .where('id', '=', kid)
    .executeTakeFirstOrThrow()
  const { createPrivateKey } = await import('node:crypto')
  const pem = await backend.platform.vault.open(backend.platform.db, {
    table: 'signing_key',
    column: `private_sealed|${kid}`,
    owner: 'installation',
    sealed: private_sealed,
  })
  const key = createPrivateKey(pem)
  const claims = claimsOf(user)
  const now = Math.floor(backend.clock.now() / 1000)
  const header = { alg: 'EdDSA', kid, typ: 'JWT' }
  const { exp: _exp, ...endless } = claims
  const { sid: _sid, ...sessionless } = claims
  expect((await validate(await sign(key, header, claims))).status).toBe(200)
  const wrong: Record<string, string> = {
    'another issuer': await sign(key, header, { ...claims, iss: 'somebody' }),
    'another audience': await sign(key, header, { ...claims, aud: 'something' }),
    'no end': await sign(key, header, endless),
    'not yet good': await sign(key, header, { ...claims, nbf: now + 120 }),
    over: await sign(key, header, { ...claims, exp: now }),
    'no session': await sign(key, header, sessionless),
    "another's session": await sign(key, header, { ...claims, sub: randomUUID() }),
    'a session that never was': await sign(key, header, { ...claims, sid: randomUUID() }),
    'another type': await sign(key, { ...header, typ: 'at+jwt' }, claims),
  }
  expect(await accepted(wrong)).toEqual([])
})

test('a token with any flipped bit is refused', async () => {
  const { accessToken } = await backend.signIn()
  const bytes = Buffer.from(accessToken)
  const flipped: Record<string, string> = {}
  for (let at = 0; at < bytes.length; at += 7) {
    const one = Buffer.from(bytes)
    one[at]! ^= 1
    flipped[`byte ${at}`] = one.toString('latin1')
  }
  expect(await accepted(flipped)).toEqual([])
})

test('the signing key changes after 30 days, and tokens signed with the old key stay valid', async () => {
  const clock = testClock()
  const own = await startBackend({ clock })
  const before = await own.signIn()
  clock.advance(30 * 86_400_000 - 60_000)
  const old = await own.signIn()
  clock.advance(60_000)
  const after = await own.signIn()
  const kid = (user: SignedIn) => decodeProtectedHeader(user.accessToken).kid
  expect(kid(old)).toBe(kid(before))
  expect(kid(after)).not.toBe(kid(old))
  expect((await validate(old.accessToken, own)).status).toBe(200)
  expect((await validate(after.accessToken, own)).status).toBe(200)
})

test('a token of another installation is refused', async () => {
  const other = await startBackend()
  const stranger = await other.signIn()
  expect((await validate(stranger.accessToken)).status).toBe(401)
  expect((await refresh(stranger.refreshToken)).status).toBe(401)
})

test('a session that ends while it is being read is not cached', async () => {
  const { db, clock, record, listener } = backend.platform
  const { accessToken, refreshToken } = await backend.signIn()
  const asked = Promise.withResolvers<void>()
  const answered = Promise.withResolvers<void>()
  let isHeld = true
  // Another process with a slow answer from the database.
  const slow = db.withPlugin({
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      asked.resolve()
      if (isHeld) await answered.promise
      return result
    },
  })
  const heard: string[] = []
  const there = sessions({
    ...sessionParts({
      ...backend.platform,
      ...backend.domains,
      installationKey: rotationKey(backend.platform),
      onRevoked: () => undefined,
    }),
    db: slow,
    log: silent,
    open: openSessions({
      db: slow,
      clock,
      config: backend.config,
      record,
      listener,
      idleMs: 3600_000,
      onRevoked: (id) => heard.push(id),
    }),
  })
  const from = { ip: '127.0.0.1', requestId: 'r' }
  const first = there.authenticate(accessToken, from)
  await asked.promise
  await backend.call(authorizeLogout, { body: { refresh_token: refreshToken } })
  await expect.poll(() => heard).toContain(decodeJwt(accessToken)['sid'])
  isHeld = false
  answered.resolve()
  await first
  await expect(there.authenticate(accessToken, from)).rejects.toMatchObject({
    code: 'session_expired',
  })
})

test('a token whose session id is not a UUID is refused with 401', async () => {
  const { userId, email } = await backend.signIn()
  const own = tokens(backend.platform)
  const sessionEndsAt = backend.clock.now() + 3600_000
  for (const sessionId of ['x', '', "'", '1'.repeat(36)]) {
    const token = await (
      await own.issuer()
    )({ userId, sessionId, email, scopes: [], sessionEndsAt })
    expect(
      (
        await backend.app.inject({
          url: '/v1/session',
          headers: { authorization: `Bearer ${token}` },
        })
      ).statusCode,
    ).toBe(401)
  }
})
