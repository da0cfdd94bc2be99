import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { eventStream } from '#contract/events.ts'
import { startBackend } from '../testing/backend.ts'

const backend = await startBackend()
const user = await backend.signIn()
const folder = path.join(backend.config.dataFolder, 'console')
const authorization = `Bearer ${user.accessToken}`

const everywhere = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'x-frame-options': 'DENY',
}

test('the console, its files, missing files, redirects and 304 answers have the security headers', async () => {
  mkdirSync(path.join(folder, 'assets'), { recursive: true })
  writeFileSync(path.join(folder, 'index.html'), '<!doctype html><style nonce="__NONCE__"></style>')
  writeFileSync(path.join(folder, 'assets', 'a-1.js'), 'export {}')
  writeFileSync(path.join(folder, 'build.json'), '{"pages":["/infra/servers"]}')
  const own = await startBackend({ beside: backend })
  const asset = await own.app.inject({ url: '/assets/a-1.js' })
  const answers = [
    asset,
    await own.app.inject({
      url: '/assets/a-1.js',
      headers: { 'if-none-match': String(asset.headers['etag']) },
    }),
    await own.app.inject({ url: '/assets/nothing.js' }),
    await own.app.inject({ url: '/infra/servers' }),
    await own.app.inject({ url: '/docs/api' }),
    await own.app.inject({ method: 'HEAD', url: '/' }),
  ]
  expect(answers.map((a) => a.statusCode)).toEqual([200, 304, 404, 200, 200, 200])
  for (const { headers } of answers) {
    expect(headers).toMatchObject(everywhere)
    expect(headers['content-security-policy']).toContain("default-src 'none'")
    expect(headers['permissions-policy']).toContain('camera=()')
  }
})

test('an event stream carries the security headers', async () => {
  const stop = new AbortController()
  const response = await fetch((await backend.listen()) + eventStream.path, {
    headers: { authorization },
    signal: stop.signal,
  })
  expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
  expect(response.headers.get('cache-control')).toBe('no-store')
  expect(Object.fromEntries(response.headers)).toMatchObject(everywhere)
  expect(response.headers.get('content-security-policy')).toContain("default-src 'none'")
  stop.abort()
})

test('HSTS is sent only behind a trusted proxy that reports https', async () => {
  const own = await startBackend({ environment: { STEELYARD_TRUSTED_PROXIES: '10.1.0.0/16' } })
  const ask = async (remoteAddress: string, proto?: string) =>
    (
      await own.app.inject({
        url: '/healthz',
        remoteAddress,
        headers: { ...(proto && { 'x-forwarded-proto': proto }) },
      })
    ).headers['strict-transport-security']
  expect(await ask('10.1.2.3', 'https')).toBe('max-age=31536000; includeSubDomains')
  expect(await ask('10.1.2.3', 'http')).toBeUndefined()
  expect(await ask('10.1.2.3')).toBeUndefined()
  expect(await ask('203.0.113.7', 'https')).toBeUndefined()
})

test('metrics are served only to this machine and to the networks in the setting', async () => {
  const own = await startBackend({
    environment: {
      STEELYARD_METRICS_NETWORKS: '10.9.0.0/24',
      STEELYARD_TRUSTED_PROXIES: '10.1.0.0/16',
    },
  })
  const ask = async (remoteAddress: string, forwarded?: string) =>
    (
      await own.app.inject({
        url: '/metrics',
        remoteAddress,
        headers: { ...(forwarded && { 'x-forwarded-for': forwarded }) },
      })
    ).statusCode
  expect(await ask('127.0.0.1')).toBe(200)
  expect(await ask('10.9.0.7')).toBe(200)
  expect(await ask('10.1.2.3', '10.9.0.7')).toBe(200)
  expect(await ask('10.8.0.7')).toBe(403)
  expect(await ask('10.1.2.3', '203.0.113.7')).toBe(403)
  // Requests through an undeclared proxy on this machine are refused, because the proxy hides the
  // client's address.
  expect(await ask('127.0.0.1', '203.0.113.7')).toBe(403)
})
