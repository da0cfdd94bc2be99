import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { installationGet } from '#contract/users.ts'
import { startBackend } from '../testing/backend.ts'

const backend = await startBackend()

test('the console is served from a fixed list of files, compressed if the browser accepts it, with a new nonce each time', async () => {
  const own = await startBackend({
    prepare: ({ config }) => {
      const folder = path.join(config.dataFolder, 'console')
      mkdirSync(path.join(folder, 'assets'), { recursive: true })
      writeFileSync(path.join(folder, 'index.html'), '<meta name="csp-nonce" content="__NONCE__"><meta name="last-event" content="__LAST_EVENT__">')
      writeFileSync(path.join(folder, 'build.json'), '{"reporting_origin":"https://reports.example.com"}')
      writeFileSync(path.join(folder, 'assets/index-abc.js'), 'plain')
      writeFileSync(path.join(folder, 'assets/index-abc.js.br'), 'brotli')
      writeFileSync(path.join(folder, 'assets/index-abc.js.gz'), 'gzip')
      writeFileSync(path.join(config.dataFolder, 'cli.mjs'), '#!/usr/bin/env node')
    },
  })
  const pages = await Promise.all(['/', '/infra/servers', '/auth/login?error=x'].map((u) => own.app.inject({ url: u })))
  const nonces = pages.map((page) => {
    expect(page.headers['content-type']).toBe('text/html; charset=utf-8')
    const nonce = /content="([^"]+)"/.exec(page.body)![1]!
    expect(page.headers['content-security-policy']).toContain(`style-src 'self' 'nonce-${nonce}'`)
    expect(page.headers['content-security-policy']).toContain("connect-src 'self' https://reports.example.com")
    expect(page.body).toMatch(/<meta name="last-event" content="\d+">/)
    return nonce
  })
  expect(new Set(nonces).size).toBe(3)
  const asset = (encoding: string) => own.app.inject({ url: '/assets/index-abc.js', headers: { 'accept-encoding': encoding } })
  expect((await asset('gzip, br')).body).toBe('brotli')
  expect((await asset('gzip')).body).toBe('gzip')
  expect((await asset('br;q=0, gzip')).body).toBe('gzip')
  expect((await asset('identity')).body).toBe('plain')
  expect((await asset('br')).headers).toMatchObject({
    'content-encoding': 'br',
    'cache-control': 'public, max-age=31536000, immutable',
    vary: 'accept-encoding',
  })
  expect((await own.app.inject({ url: '/cli' })).body).toBe('#!/usr/bin/env node')
  for (const hidden of ['/build.json', '/index.html', '/assets/missing.js', '/assets/../key', '/assets/%2e%2e/key', '/v1/../key']) {
    const response = await own.app.inject({ url: hidden })
    expect(response.body).not.toContain('steelyard-key')
    expect(response.body).not.toContain('reporting_origin')
  }
  expect((await own.app.inject({ url: '/assets/missing.js' })).statusCode).toBe(404)
})

test('the API documentation is one page without scripts', async () => {
  const first = await backend.app.inject({ url: '/docs/api' })
  const page = await backend.app.inject({ url: '/docs/api' })
  expect(page.statusCode).toBe(200)
  expect(page.body).toContain('id="datacenterCreate"')
  expect(page.body).toContain('Named <code>datacenterCreate</code> in the contract')
  // Calls outside of the contract have no operation name.
  expect(page.body).toContain('id="healthz"')
  expect(page.body).not.toContain('Named <code>healthz</code>')
  expect(page.body).not.toContain('<script')
  const nonce = /<style nonce="([^"]+)"/.exec(page.body)![1]!
  expect(page.headers['content-security-policy']).toContain(`'nonce-${nonce}'`)
  // The page is built once, so repeated requests don't occupy the process.
  expect(first.body).not.toContain(nonce)
  const began = performance.now()
  for (let asked = 0; asked < 50; asked++) await backend.app.inject({ url: '/docs/api' })
  expect(performance.now() - began).toBeLessThan(2_500)
})
test('the console can load its settings before sign-in', async () => {
  const none = { rp_id: null, reason: expect.stringContaining('127.0.0.1 is an IP address') as string }
  const sign_in = { password: true, passkeys: none, provider: null }
  expect((await backend.call(installationGet)).answer).toEqual({ version: '1.2.3', simulated: false, waitlist_url: null, sign_in })
  const environment = {
    STEELYARD_SIMULATE: '12',
    WAITLIST_URL: 'https://example.com/wait',
    STEELYARD_PUBLIC_URL: 'https://steelyard.example.com',
    STEELYARD_OIDC_ISSUER: 'https://id.example.com/realms/ops',
    STEELYARD_OIDC_CLIENT_ID: 'steelyard',
  }
  const simulated = await startBackend({ environment })
  expect((await simulated.call(installationGet)).answer).toEqual({
    version: '1.2.3',
    simulated: true,
    waitlist_url: 'https://example.com/wait',
    sign_in: { password: true, passkeys: { rp_id: 'steelyard.example.com', reason: null }, provider: 'id.example.com' },
  })
})
