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

// One test for all calls, and one per role and per scope: a test per case would be a thousand.
test('every call with a scope returns 401 without a token and with an invalid, changed or refresh token', async () => {
  const other = `${users.admin.accessToken.slice(0, -4)}AAAA`
  const wrong: string[] = []
  for (const operation of guarded)
    for (const token of [undefined, 'garbage', other, users.admin.refreshToken]) {
      const response = await ask(operation, token)
      const { code, request_id: id } = response.json<Record<string, unknown>>()
      if (response.statusCode !== 401 || code !== 'session_expired' || typeof id !== 'string')
        wrong.push(`${operation.name} with ${token}: ${response.statusCode} ${String(code)}`)
    }
  expect(wrong).toEqual([])
})

const cases = guarded
  .filter((o) => !streams.has(o.media))
  .flatMap((o) => roles.map((role) => [o.name, role, o] as const))
const allowed = ([, role, operation]: (typeof cases)[number]) =>
  permits(scopesOf[role], operation.scope).ok
const passed = new Set([200, 201, 202, 204, 400, 404, 409, 415, 422])

test.each(roles)(
  'a %s passes the scope check of the calls of their scopes, and the error of every other call names the missing scope',
  async (role) => {
    const wrong: string[] = []
    for (const one of cases.filter(([, other]) => other === role)) {
      const [name, , operation] = one
      const response = await ask(operation, users[role].accessToken)
      const isRefused =
        response.statusCode === 403 &&
        response.body.includes('"forbidden"') &&
        response.json<{ error: string }>().error === `Your role does not include ${operation.scope}`
      if (allowed(one) ? !passed.has(response.statusCode) : !isRefused)
        wrong.push(`${name}: ${response.statusCode} ${response.body.slice(0, 200)}`)
    }
    expect(wrong).toEqual([])
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
