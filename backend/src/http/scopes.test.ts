/**
 * Tries every call of the contract with every role, and with an API token of every scope. New calls
 * are included automatically.
 */
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { allOperations } from '#contract/all.ts'
import type { Operation } from '#contract/operation.ts'
import { apiTokenCreate } from '#contract/people/api-tokens.ts'
import { permits, type Role, roles, type Scope, scopes, scopesOf } from '#contract/permissions.ts'
import { type SignedIn, startBackend } from '../testing/backend.ts'

const backend = await startBackend()
const users = Object.fromEntries(
  await Promise.all(roles.map(async (role) => [role, await backend.signIn({ role })] as const)),
) as Record<Role, SignedIn>

/** The path with random ids, so that a permitted call finds no object. */
const path = (operation: Operation): string =>
  operation.path.replaceAll(/\{(\w+)\}/g, () => randomUUID())
const ask = (operation: Operation, token?: string) =>
  backend.app.inject({
    method: operation.method,
    url: path(operation),
    headers: {
      'content-type': 'application/json',
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
    ...(operation.method !== 'GET' &&
      operation.method !== 'DELETE' && { payload: '{"unknown key":1}' }),
  })
const streams = new Set(['text/event-stream'])
const guarded = allOperations.filter((o) => o.scope !== null)

test('the server has a route for every call of the contract', () => {
  const missing = allOperations
    .filter(
      (o) =>
        !backend.app.hasRoute({ method: o.method, url: o.path.replaceAll(/\{(\w+)\}/g, ':$1') }),
    )
    .map((o) => o.name)
  expect(missing).toEqual([])
})

test.each(guarded.map((o) => [o.name, o] as const))(
  '%s returns 401 without a token and with an invalid, changed or refresh token',
  async (_name, operation) => {
    const other = `${users.admin.accessToken.slice(0, -4)}AAAA`
    for (const token of [undefined, 'garbage', other, users.admin.refreshToken]) {
      const response = await ask(operation, token)
      expect(response.statusCode).toBe(401)
      expect(response.json()).toMatchObject({
        code: 'session_expired',
        request_id: expect.any(String) as string,
      })
    }
  },
)

const cases = guarded
  .filter((o) => !streams.has(o.media))
  .flatMap((o) => roles.map((role) => [o.name, role, o] as const))
const allowed = ([, role, operation]: (typeof cases)[number]) =>
  permits(scopesOf[role], operation.scope).ok

test.each(cases.filter(allowed))(
  '%s by a %s passes the scope check',
  async (_name, role, operation) => {
    expect([200, 201, 202, 204, 400, 404, 409, 415, 422]).toContain(
      (await ask(operation, users[role].accessToken)).statusCode,
    )
  },
)

test.each(cases.filter((c) => !allowed(c)))(
  '%s by a %s is refused, and the error names the missing scope',
  async (_name, role, operation) => {
    const response = await ask(operation, users[role].accessToken)
    expect(response.statusCode).toBe(403)
    expect(response.json()).toMatchObject({
      code: 'forbidden',
      error: `Your role does not include ${operation.scope}`,
    })
  },
)

/** API tokens of an admin with one scope each. */
const tokens = Object.fromEntries(
  await Promise.all(
    scopes.map(
      async (scope) =>
        [
          scope,
          (await users.admin.call(apiTokenCreate, { body: { name: scope, scopes: [scope] } }))
            .answer!.token,
        ] as const,
    ),
  ),
) as Record<Scope, string>
/** Calls about sessions and API tokens, which a token makes only with `users:manage`. */
const ofAccess = new Set(['sessionList', 'sessionEndAll', 'apiTokenList'])
const tokenCases = guarded
  .filter((o) => !streams.has(o.media))
  .flatMap((o) => scopes.map((scope) => [o.name, scope, o] as const))
const mayToken = ([name, scope, operation]: (typeof tokenCases)[number]) =>
  operation.session !== true &&
  permits([scope], operation.scope).ok &&
  (!ofAccess.has(name) || scope === 'users:manage')

test('the matrix of calls, roles and scopes has no hole', () => {
  process.stderr.write(
    `scopes: ${guarded.length} calls with a scope, ${cases.length} cases of roles, ${tokenCases.length} cases of API tokens\n`,
  )
  expect(cases).toHaveLength(
    (guarded.length - guarded.filter((o) => streams.has(o.media)).length) * roles.length,
  )
  expect(new Set(tokenCases.map(([name, scope]) => `${name} ${scope}`)).size).toBe(
    tokenCases.length,
  )
})

// One test per scope: a test per case would be a thousand.
test.each(scopes)('an API token with %s makes exactly the calls of this scope', async (scope) => {
  const wrong: string[] = []
  for (const one of tokenCases.filter(([, other]) => other === scope)) {
    const [name, , operation] = one
    const { statusCode } = await ask(operation, tokens[scope])
    if ((statusCode === 403) === mayToken(one) || statusCode === 401)
      wrong.push(`${name}: ${statusCode}`)
  }
  expect(wrong).toEqual([])
})

test('a call without a scope needs no session', async () => {
  // 404: calls about an object that doesn't exist.
  for (const operation of allOperations.filter((o) => o.scope === null))
    expect([200, 204, 401, 404, 422, 429]).toContain((await ask(operation)).statusCode)
  const { error } = (await ask(allOperations.find((o) => o.name === 'authorize')!)).json<{
    error: string
  }>()
  expect(error).not.toContain('Session')
})

test('a refused write never reveals to a viewer whether an object exists', async () => {
  const response = await backend.app.inject({
    method: 'DELETE',
    url: `/v1/datacenters/${randomUUID()}`,
    headers: { authorization: `Bearer ${users.viewer.accessToken}` },
  })
  expect(response.statusCode).toBe(403)
})
