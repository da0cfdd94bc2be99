import { createHash } from 'node:crypto'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { installationGet } from '#contract/users.ts'
import { startBackend } from '../../testing/backend.ts'
import { processorMs } from '../../../../tools/testing/processor-time.ts'

const backend = await startBackend()

/** A backend whose console consists of these files, by their path in its folder. */
async function withFiles(
  files: Record<string, string | Buffer>,
  environment: Record<string, string> = {},
) {
  let folder = ''
  const prepare: NonNullable<Parameters<typeof startBackend>[0]>['prepare'] = ({ config }) => {
    folder = path.join(config.dataFolder, 'console')
    for (const [name, content] of Object.entries(files)) {
      mkdirSync(path.dirname(path.join(folder, name)), { recursive: true })
      writeFileSync(path.join(folder, name), content)
    }
  }
  const started = await startBackend({ environment, prepare })
  return { app: started.app, folder }
}

/** A backend with a small console. */
const withConsole = (build: object, environment: Record<string, string> = {}) =>
  withFiles(
    { 'index.html': '<title>Steelyard</title>', 'build.json': builtWith(build) },
    environment,
  )

/** Facts of a build that has these pages. */
const builtWith = (more: object = {}) =>
  JSON.stringify({ pages: ['/infra/servers', '/infra/servers/$id', '/auth/login'], ...more })

const script = {
  'assets/index-abc.js': 'plain',
  'assets/index-abc.js.br': 'brotli',
  'assets/index-abc.js.gz': gzipSync('plain'),
}

test('the console is served from a fixed list of files, compressed if the browser accepts it, with a new nonce each time', async () => {
  const own = await withFiles({
    ...script,
    'index.html':
      '<meta name="csp-nonce" content="__NONCE__"><meta name="last-event" content="__LAST_EVENT__">',
    'build.json': builtWith({ reporting_origin: 'https://reports.example.com' }),
    '../cli.mjs': '#!/usr/bin/env node',
  })
  const pages = await Promise.all(
    ['/', '/infra/servers', '/auth/login?error=x'].map((u) => own.app.inject({ url: u })),
  )
  const nonces = pages.map((page) => {
    expect(page.headers['content-type']).toBe('text/html; charset=utf-8')
    const nonce = /content="([^"]+)"/.exec(page.body)![1]!
    expect(page.headers['content-security-policy']).toContain(`style-src 'self' 'nonce-${nonce}'`)
    expect(page.headers['content-security-policy']).toContain(
      "connect-src 'self' https://reports.example.com",
    )
    expect(page.body).toMatch(/<meta name="last-event" content="\d+">/)
    return nonce
  })
  expect(new Set(nonces).size).toBe(3)
  const asset = (encoding: string) =>
    own.app.inject({ url: '/assets/index-abc.js', headers: { 'accept-encoding': encoding } })
  expect((await asset('gzip, br')).body).toBe('brotli')
  expect((await asset('gzip')).rawPayload).toEqual(gzipSync('plain'))
  expect((await asset('br;q=0, gzip')).rawPayload).toEqual(gzipSync('plain'))
  expect(await asset('identity')).toMatchObject({
    body: 'plain',
    headers: { 'content-length': '5' },
  })
  expect((await asset('identity')).headers).not.toHaveProperty('content-encoding')
  expect((await asset('br')).headers).toMatchObject({
    'content-encoding': 'br',
    'cache-control': 'public, max-age=31536000, immutable',
    vary: 'accept-encoding',
  })
  expect(await own.app.inject({ url: '/cli' })).toMatchObject({
    body: '#!/usr/bin/env node',
    headers: { 'content-disposition': 'attachment; filename="steelyard.mjs"' },
  })
  for (const hidden of [
    '/build.json',
    '/index.html',
    '/assets/missing.js',
    '/assets/../key',
    '/assets/%2e%2e/key',
    '/v1/../key',
  ]) {
    const response = await own.app.inject({ url: hidden })
    expect(response.body).not.toContain('steelyard-key')
    expect(response.body).not.toContain('reporting_origin')
  }
  for (const missing of [
    '/assets/missing.js',
    '/assets/',
    '/assets/index-abc.js/more',
    '/assets/index-abc.js.br',
  ])
    expect([
      missing,
      (await own.app.inject({ url: missing, headers: { accept: '*/*' } })).statusCode,
    ]).toEqual([missing, 404])
})

test('files that keep their name are validated by their content, and files named after their content by their name', async () => {
  const built = (flag: string) =>
    withFiles({
      ...script,
      'index.html': '',
      'flags/pl.svg': flag,
      'flags/pl.svg.gz': gzipSync(flag),
    })
  const [one, other] = [await built('<svg/>'), await built('<svg />')]
  const tagOf = async ({ app }: typeof one, url: string) =>
    String((await app.inject({ url })).headers['etag'])
  const before = await tagOf(one, '/flags/pl.svg')
  const again = (started: typeof one) =>
    started.app.inject({ url: '/flags/pl.svg', headers: { 'if-none-match': before } })
  expect((await again(one)).statusCode).toBe(304)
  expect(await again(other)).toMatchObject({
    statusCode: 200,
    body: '<svg />',
    headers: { 'cache-control': 'no-cache' },
  })
  expect(await tagOf(one, '/assets/index-abc.js')).toBe(await tagOf(other, '/assets/index-abc.js'))
})

test('the console is served as it was at the start after a new build has deleted its files', async () => {
  const { app, folder } = await withFiles({
    ...script,
    'index.html': '<title>Steelyard</title>',
    'early.js': 'early',
    'assets/small-abc.js': 'small',
  })
  rmSync(folder, { recursive: true })
  const bodyOf = async (url: string, encoding: string) =>
    (await app.inject({ url, headers: { 'accept-encoding': encoding } })).body
  expect(await bodyOf('/assets/index-abc.js', 'br')).toBe('brotli')
  expect(await bodyOf('/assets/index-abc.js', 'identity')).toBe('plain')
  expect(await bodyOf('/assets/small-abc.js', 'br')).toBe('small')
  expect(await bodyOf('/early.js', 'br')).toBe('early')
  expect(await bodyOf('/', 'br')).toBe('<title>Steelyard</title>')
})

test('the API documentation is one page without scripts', async () => {
  const page = await backend.app.inject({ url: '/docs/api' })
  expect(page.statusCode).toBe(200)
  expect(page.body).toContain('id="datacenterCreate"')
  expect(page.body).toContain('Named <code>datacenterCreate</code> in the contract')
  // Calls outside of the contract have no operation name.
  expect(page.body).toContain('id="healthz"')
  expect(page.body).not.toContain('Named <code>healthz</code>')
  expect(page.body).not.toContain('<script')
  const style = /<style>([^<]+)<\/style>/.exec(page.body)![1]!
  const digest = createHash('sha256').update(style).digest('base64')
  expect(page.headers['content-security-policy']).toContain(`'sha256-${digest}'`)
  // The page is built once, so repeated requests don't occupy the process.
  const usedMs = await processorMs(async () => {
    for (let asked = 0; asked < 50; asked++) await backend.app.inject({ url: '/docs/api' })
  })
  expect(usedMs).toBeLessThan(2_500)
})

test.each(['/docs/api', '/v1/openapi.json'])(
  '%s is compressed once for all clients that accept that',
  async (url) => {
    const get = (accepted: string) =>
      backend.app.inject({ url, headers: { 'accept-encoding': accepted } })
    const plain = await get('identity')
    const packed = await get('gzip')
    expect(plain.headers).toMatchObject({ vary: 'accept-encoding' })
    expect(plain.headers['content-encoding']).toBeUndefined()
    expect(packed.headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'accept-encoding' })
    expect(gunzipSync(packed.rawPayload).toString()).toBe(plain.body)
    expect(packed.rawPayload.length).toBeLessThan(plain.rawPayload.length / 5)
    // Compressing it for each of 50 requests, on whichever thread, would cost 17 times this or more.
    const spent = async (act: () => unknown): Promise<number> => {
      const before = process.cpuUsage()
      await act()
      return process.cpuUsage(before).user
    }
    const once = await spent(() => gzipSync(plain.body, { level: 9 }))
    const asked = (accepted: string) =>
      spent(async () => {
        for (let at = 0; at < 50; at++) await get(accepted)
      })
    // Beyond what 50 responses cost without any compression, which a busy machine makes dear.
    const [uncompressed, compressed] = [await asked('identity'), await asked('gzip')]
    expect((compressed - uncompressed) / once).toBeLessThan(8)
  },
)

test('the console can load its settings before sign-in', async () => {
  const none = {
    rp_id: null,
    reason: expect.stringContaining('127.0.0.1 is an IP address') as string,
  }
  const sign_in = { password: true, passkeys: none, provider: null }
  expect((await backend.call(installationGet)).answer).toEqual({
    version: '1.2.3',
    simulated: false,
    waitlist_url: null,
    sign_in,
  })
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
    sign_in: {
      password: true,
      passkeys: { rp_id: 'steelyard.example.com', reason: null },
      provider: 'id.example.com',
    },
  })
})

test('a browser gets the console, with 404 where the console has no page; other requests and calls of the API get an error', async () => {
  const { app } = await withFiles({
    ...script,
    'index.html': '<title>Steelyard</title>',
    'build.json': builtWith(),
  })
  const pages = [
    '/infra/servers',
    '/Infra/Servers/',
    '/infra/servers/a%20b',
    '/infra/servers?cluster=a&cluster=b',
    '/?__proto__=1',
    '/?q=%00',
    `/?q=${'x'.repeat(5000)}`,
  ]
  const none = [
    '/%ZZ',
    '/infra/servers/%FF',
    '/infra/servers/a/b',
    '/infra/serversx',
    '/a%00b',
    '/no/such/page',
    '/assets/x',
    '/assets/no-such.js',
    '/flags',
    '/cli/x',
    '/docs',
    '/docs/no-such',
  ]
  for (const url of [...pages, ...none]) {
    const response = await app.inject({
      url,
      headers: { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' },
    })
    expect([url, response.statusCode, response.headers['content-type'], response.body]).toEqual([
      url,
      none.includes(url) ? 404 : 200,
      'text/html; charset=utf-8',
      '<title>Steelyard</title>',
    ])
    expect(response.headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-cache',
    })
  }
  const asProgram = async (url: string) => {
    const response = await app.inject({ url, headers: { accept: '*/*' } })
    return [url, response.statusCode, response.headers['content-type']]
  }
  expect(await asProgram('/infra/servers')).toEqual([
    '/infra/servers',
    200,
    'text/html; charset=utf-8',
  ])
  for (const url of none.filter((one) => !one.includes('%')))
    expect(await asProgram(url)).toEqual([url, 404, 'application/json'])
  expect((await app.inject({ url: '/no/such/page' })).json()).toMatchObject({
    code: 'not_found',
    error: 'There is no such path',
  })
  for (const url of [
    '/%ZZ',
    '/?q=1&q=2',
    '/v1/%ZZ',
    '/v1/datacenters?page=1&page=2',
    '/%761/datacenters?page=1&page=2',
  ]) {
    const accept = /^.(?:v|%76)1/.test(url) ? 'text/html' : 'application/json'
    expect([url, (await app.inject({ url, headers: { accept } })).json()]).toEqual([
      url,
      expect.objectContaining({ code: 'bad_request' }),
    ])
  }
  // A script that the browser lacks is an error: the console as a script would be none.
  for (const accept of ['*/*', 'application/json'])
    expect((await app.inject({ url: '/assets/x', headers: { accept } })).statusCode).toBe(404)
  expect(
    (await app.inject({ method: 'POST', url: '/%ZZ', headers: { accept: 'text/html' } }))
      .statusCode,
  ).toBe(400)
})

test('a console that was built for the API of another origin may call that origin, and nothing else', async () => {
  const policy = async (build: object) =>
    (await (await withConsole(build)).app.inject({ url: '/' })).headers['content-security-policy']
  expect(await policy({ api_origin: 'https://api.example.com', reporting_origin: null })).toContain(
    "connect-src 'self' https://api.example.com;",
  )
  expect(await policy({ api_origin: null, reporting_origin: null })).toContain(
    "connect-src 'self';",
  )
  expect(await policy({ api_origin: "https://x; script-src 'unsafe-inline'" })).toContain(
    "connect-src 'self';",
  )
})

test('a console of another origin may call the API if the setting names its origin; by default none may', async () => {
  const origin = 'https://console.example.com'
  const preflight = {
    origin,
    'access-control-request-method': 'PATCH',
    'access-control-request-headers': 'authorization,content-type,if-match',
  }
  const { app } = await startBackend({
    environment: { STEELYARD_CONSOLE_ORIGINS: `${origin}, http://localhost:5173` },
  })
  const asked = await app.inject({ method: 'OPTIONS', url: '/v1/nodes/x', headers: preflight })
  expect(asked.statusCode).toBe(204)
  expect(asked.headers).toMatchObject({
    'access-control-allow-origin': origin,
    'access-control-allow-methods': expect.stringContaining('PATCH') as string,
    'access-control-allow-headers': expect.stringContaining('authorization') as string,
  })
  expect(asked.headers['access-control-allow-credentials']).toBeUndefined()
  // Errors can be read, too: the console shows their sentences.
  const refused = await app.inject({ url: '/v1/session', headers: { origin } })
  expect(refused.statusCode).toBe(401)
  expect(refused.headers).toMatchObject({
    'access-control-allow-origin': origin,
    vary: 'origin',
    'cross-origin-resource-policy': 'cross-origin',
  })
  for (const other of ['https://evil.example', `${origin}.evil.example`, 'null']) {
    const answer = await app.inject({ url: '/v1/session', headers: { origin: other } })
    expect(answer.headers['access-control-allow-origin']).toBeUndefined()
  }
  expect(
    (await app.inject({ url: '/', headers: { origin } })).headers['access-control-allow-origin'],
  ).toBeUndefined()
  const closed = await backend.app.inject({
    method: 'OPTIONS',
    url: '/v1/nodes/x',
    headers: preflight,
  })
  expect([closed.statusCode, closed.headers['access-control-allow-origin']]).toEqual([
    405,
    undefined,
  ])
})

test('the documentation is served as built, without scripts and with a policy that allows none', async () => {
  const { app } = await withFiles({
    '../docs/index.html': '<h1>All</h1>',
    '../docs/subnets.html': '<h1>Subnets</h1>',
    '../docs/subnets.html.gz': gzipSync('<h1>Subnets</h1>'),
    '../docs/decisions/004.html': '<h1>004</h1>',
    '../docs/style.css': 'a {}',
    '../docs/first.mjs': 'script',
    '../docs/notes.xyz': 'no',
  })
  const bodies: Record<string, string> = {
    '/docs': '<h1>All</h1>',
    '/docs/': '<h1>All</h1>',
    '/docs/subnets': '<h1>Subnets</h1>',
    '/docs/decisions/004': '<h1>004</h1>',
    '/docs/style.css': 'a {}',
    '/docs/first.mjs': 'script',
  }
  for (const [url, body] of Object.entries(bodies)) {
    const response = await app.inject({ url, headers: { accept: 'text/html' } })
    expect([url, response.statusCode, response.body]).toEqual([url, 200, body])
    const policy = String(response.headers['content-security-policy'])
    expect(policy).toContain("default-src 'none'")
    expect(policy).not.toContain('script-src')
    expect(response.headers['cache-control']).toBe('no-cache')
  }
  const page = await app.inject({ url: '/docs/subnets', headers: { 'accept-encoding': 'gzip' } })
  expect(page.rawPayload).toEqual(gzipSync('<h1>Subnets</h1>'))
  const { etag } = page.headers
  expect(
    await app.inject({ url: '/docs/subnets', headers: { 'if-none-match': String(etag) } }),
  ).toMatchObject({ statusCode: 304 })
  for (const url of ['/docs/subnets.html', '/docs/notes.xyz', '/docs/../key', '/docs/no-such'])
    expect([url, (await app.inject({ url })).statusCode]).toEqual([url, 404])
  // The page of the API is not a file.
  expect((await app.inject({ url: '/docs/api' })).statusCode).toBe(200)
})

test('robots are asked to stay away, and security.txt names the page on reporting at the public address', async () => {
  const robots = await backend.app.inject({ url: '/robots.txt' })
  expect([robots.headers['content-type'], robots.body]).toEqual([
    'text/plain; charset=utf-8',
    'User-agent: *\nDisallow: /\n',
  ])
  const { app } = await startBackend({
    environment: { STEELYARD_PUBLIC_URL: 'https://steelyard.example.com' },
  })
  const security = await app.inject({ url: '/.well-known/security.txt' })
  expect(security.headers['content-type']).toBe('text/plain; charset=utf-8')
  expect(security.body).toMatch(
    /^Contact: https:\/\/steelyard\.example\.com\/docs\/security#reporting-a-vulnerability\nExpires: \d{4}-\d\d-\d\dT\S+Z\n/,
  )
  expect(security.body).toContain(
    'Canonical: https://steelyard.example.com/.well-known/security.txt\n',
  )
})
