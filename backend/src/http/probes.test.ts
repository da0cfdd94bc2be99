/** What a process answers that has the role `reconcile` alone. */
import { expect, test } from 'vitest'
import { authorize } from '#contract/sessions.ts'
import { serverList } from '#contract/servers/servers.ts'
import { startBackend } from '../testing/backend.ts'
import { buildProbes } from './probes.ts'

const backend = await startBackend()
const asked: string[] = []
const app = await buildProbes(backend.platform, [
  async () => {
    asked.push('figures')
    return { steelyard_clusters: [{ status: 'ready', value: 3 }] }
  },
])
const get = (url: string, headers: Record<string, string> = {}) => app.inject({ url, headers })

test('health, readiness and metrics are those of any process', async () => {
  expect((await get('/healthz')).json()).toEqual({ ok: true })
  expect(await get('/readyz')).toMatchObject({ statusCode: 200 })
  const { body, headers } = await get('/metrics')
  expect(headers['content-type']).toContain('text/plain')
  for (const name of [
    'steelyard_info',
    'steelyard_database_up 1',
    'steelyard_clusters{status="ready"} 3',
  ])
    expect(body).toContain(name)
  expect(asked).toEqual(['figures'])
  // Requests are measured here too.
  expect((await get('/metrics')).body).toMatch(/_count\{.*route="\/readyz",status="200"\} 1/)
})

test('nothing else is answered: no call of the API, no page, and no sign-in', async () => {
  const { accessToken } = await backend.signIn()
  const authorization = `Bearer ${accessToken}`
  for (const url of ['/', '/auth/login', '/docs/', serverList.path, '/%ff', '/openapi.json']) {
    const answer = await get(url, { authorization, accept: 'text/html' })
    expect(answer.statusCode).toBe(404)
    expect(answer.json()).toMatchObject({
      code: 'not_found',
      error:
        'This process answers /healthz, /readyz and /metrics only: its STEELYARD_ROLES has no http',
    })
    expect(answer.headers).toMatchObject({
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'content-security-policy': expect.any(String) as string,
    })
  }
  const { path: url } = authorize
  const body = { email: 'admin@example.com', password: 'a long password' }
  for (const method of ['POST', 'PUT', 'DELETE'] as const)
    expect((await app.inject({ method, url, body })).statusCode).toBe(404)
})

test('metrics are refused to strangers, and through a proxy that hides the caller', async () => {
  const from = (remoteAddress: string, headers: Record<string, string> = {}) =>
    app.inject({ url: '/metrics', remoteAddress, headers })
  expect((await from('192.0.2.1')).json()).toMatchObject({ code: 'forbidden' })
  expect((await from('127.0.0.1', { 'x-forwarded-for': '127.0.0.1' })).statusCode).toBe(403)
  expect((await from('127.0.0.1')).statusCode).toBe(200)
})
