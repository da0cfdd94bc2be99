import { randomUUID } from 'node:crypto'
import { Agent, get } from 'node:http'
import { connect as dial } from 'node:net'
import { json } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import {
  datacenterCreate,
  datacenterGet,
  datacenterList,
  datacenterRemove,
  datacenterUpdate,
} from '#contract/datacenters.ts'
import { type Backend, startBackend } from '../testing/backend.ts'

const backend = await startBackend()
const admin = await backend.signIn()
const poznan = {
  country_code: 'PL',
  city_code: 'POZ',
  city_name: 'Poznań',
  tier: 3 as const,
  certifications: ['ISO 27001'],
  latitude: 52.41,
  longitude: 16.93,
}

/** Sends a raw request to the app without a socket. */
const send = (
  method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE',
  url: string,
  payload?: string | Buffer,
  headers: Record<string, string> = {},
  on: Backend = backend,
  token = admin.accessToken,
) =>
  on.app.inject({
    method,
    url,
    headers: {
      authorization: `Bearer ${token}`,
      ...(payload !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(payload !== undefined && { payload }),
  })
let url: Promise<string> | undefined
const listening = () => (url ??= backend.listen())
const post = (payload: string | Buffer, headers: Record<string, string> = {}) =>
  send('POST', '/v1/datacenters', payload, headers)

test.each([
  ['incomplete JSON', '{"a":', 400],
  ['text after the JSON', '{} x', 400],
  ['not UTF-8', Buffer.from([0x22, 0xff, 0x22]), 400],
  ['a prototype', '{"__proto__":{"admin":true}}', 400],
  ['a prototype deep inside', '{"certifications":[{"a":{"__proto__":{}}}]}', 400],
  ['a prototype by its constructor', '{"constructor":{"prototype":{"admin":true}}}', 400],
  ['a hundred levels of nesting', '['.repeat(100) + ']'.repeat(100), 400],
  ['a list of a thousand and one', JSON.stringify(Array.from({ length: 1001 }, () => 1)), 400],
  ['no body', '', 422],
  ['null', 'null', 422],
  ['a list', '[]', 422],
  ['an unknown field', JSON.stringify({ ...poznan, id: randomUUID() }), 422],
  ['a NUL', JSON.stringify({ ...poznan, city_name: 'a\0b' }), 422],
  ['half a surrogate pair', '{"city_name":"\\ud800"}', 422],
])('a body with %s is refused', async (_name, body, status) => {
  const response = await post(body)
  expect(response.statusCode).toBe(status)
  expect(response.json()).toMatchObject({
    error: expect.any(String) as string,
    code: status === 400 ? 'bad_request' : 'invalid',
    request_id: response.headers['x-request-id'],
  })
  expect(Object.prototype).not.toHaveProperty('admin')
})

test('an unknown field is named, and nothing is changed', async () => {
  const before = (await admin.call(datacenterList)).answer!.total
  const response = await post(JSON.stringify({ ...poznan, city_name: '', role: 'admin' }))
  expect(response.json()).toMatchObject({
    fields: { role: 'Unknown field', city_name: expect.any(String) as string },
  })
  expect((await admin.call(datacenterList)).answer!.total).toBe(before)
})

test('a validation error names the invalid field, or the first required field if the body is empty', async () => {
  expect((await post('')).json()).toMatchObject({
    error: 'Required: country_code',
    fields: { country_code: 'Required', city_name: 'Required' },
  })
  expect((await post(JSON.stringify({ ...poznan, tier: '3' }))).json()).toMatchObject({
    error: 'tier: Expected one of 1, 2, 3, 4',
  })
  expect((await send('GET', '/v1/datacenters?page=0')).json()).toMatchObject({
    error: 'page: Expected at least 1',
  })
  expect((await send('GET', '/v1/datacenters?page=0x1')).json()).toMatchObject({
    error: 'page: Expected number, received no number',
  })
  const labelled = await send(
    'POST',
    `/v1/nodes/${randomUUID()}/patches`,
    JSON.stringify({ name: 'a', body: 'machine: {}', labels: { 'A B': 'x' } }),
  )
  expect(labelled.json()).toMatchObject({
    fields: {
      'labels.A B': 'A label key has up to 63 lowercase letters, digits, dots, slashes and hyphens',
    },
  })
})

test('a body without required fields may be omitted, and an empty body is accepted if none is expected', async () => {
  const missing = randomUUID()
  for (const payload of [undefined, '', '{}']) {
    expect((await send('POST', `/v1/nodes/${missing}/reset`, payload)).json()).toMatchObject({
      code: 'not_found',
      error: `Server ${missing} not found`,
    })
    expect((await send('POST', `/v1/nodes/${missing}/reboot`, payload)).json()).toMatchObject({
      code: 'not_found',
      error: `Server ${missing} not found`,
    })
  }
  for (const payload of ['{"a":1}', '[]', 'null', '"x"'])
    expect((await send('POST', `/v1/nodes/${missing}/reboot`, payload)).json()).toMatchObject({
      code: 'invalid',
      error: 'This call takes no body',
    })
})

test('a body above 256 KiB returns 413, and another media type 415', async () => {
  expect((await post(JSON.stringify({ a: 'x'.repeat(256 * 1024) }))).json()).toMatchObject({
    code: 'too_large',
  })
  expect(
    (await post(JSON.stringify(poznan), { 'content-type': 'text/plain' })).json(),
  ).toMatchObject({ code: 'unsupported_media' })
  expect(
    (await post('a=1', { 'content-type': 'application/x-www-form-urlencoded' })).statusCode,
  ).toBe(415)
})

test.each([
  '/v1/datacenters?page=0',
  '/v1/datacenters?page=x',
  '/v1/datacenters?page=',
  '/v1/datacenters?page=0x1',
  '/v1/datacenters?page=1e1',
  '/v1/datacenters?page=%2B1',
  '/v1/datacenters?page=%201',
  '/v1/datacenters?page=1.0',
  '/v1/datacenters?page=01',
  '/v1/datacenters?page=-1',
  '/v1/datacenters?per_page=%D9%A1',
  '/v1/datacenters?per_page=1001',
  '/v1/datacenters?page=1&page=2',
  '/v1/datacenters?unknown=1',
  '/v1/datacenters?sort=secret',
  '/v1/datacenters?__proto__=1',
  '/v1/datacenters/%zz',
  '/v1/datacenters?q=a%00b',
  `/v1/nodes/${randomUUID()}/patches/%00`,
  `/v1/datacenters?q=${'x'.repeat(5000)}`,
])('the query %s returns 400', async (url) => {
  const response = await send('GET', url)
  expect(response.statusCode).toBe(400)
  expect(response.json()).toMatchObject({ code: 'bad_request' })
})

test('an unknown path and an invalid id return 404, and a wrong method 405 with the allowed methods', async () => {
  expect((await send('GET', '/v1/nothing')).json()).toMatchObject({ code: 'not_found' })
  expect((await send('GET', '/v1/datacenters/not-an-id')).json()).toMatchObject({
    code: 'not_found',
    error: 'Datacenter not-an-id not found',
  })
  expect((await send('GET', `/v1/nodes/${'x'.repeat(100)}`)).json()).toMatchObject({
    code: 'not_found',
    error: `Server ${'x'.repeat(64)} not found`,
  })
  expect((await send('GET', `/v1/datacenters/${randomUUID()}`)).json()).toMatchObject({
    code: 'not_found',
  })
  const wrong = await send('PUT', `/v1/datacenters/${randomUUID()}`, '{}')
  expect(wrong.statusCode).toBe(405)
  expect(wrong.json()).toMatchObject({ code: 'method_not_allowed' })
  expect(wrong.headers['allow']).toBe('DELETE, GET, HEAD, PATCH')
})

test('HEAD on a stream is refused, because it would stay open without data', async () => {
  for (const url of ['/v1/events', `/v1/nodes/${randomUUID()}/logs`]) {
    const { statusCode, headers } = await backend.app.inject({
      method: 'HEAD',
      url,
      headers: { authorization: `Bearer ${admin.accessToken}` },
    })
    expect([statusCode, headers['allow']]).toEqual([405, 'GET'])
  }
})

test('the word Bearer may be written in any case (RFC 9110 §11.1)', async () => {
  const asked = (authorization: string) =>
    backend.app.inject({ url: '/v1/session', headers: { authorization } })
  expect((await asked(`bearer ${admin.accessToken}`)).statusCode).toBe(200)
  expect((await asked(`Basic ${admin.accessToken}`)).statusCode).toBe(401)
})

test('a wrong token is told what is wrong with it, and not that a session has expired', async () => {
  const told = async (authorization?: string) => {
    const headers = authorization === undefined ? {} : { authorization }
    const answer = await backend.app.inject({ url: '/v1/session', headers })
    return [answer.statusCode, answer.json<{ error: string }>().error]
  }
  expect(await told()).toEqual([401, expect.stringContaining('the request has none')])
  for (const token of ['sy-api', 'SY-API-abc', 'a.b', 'ghp_0123456789', 'a b'])
    expect(await told(`Bearer ${token}`)).toEqual([
      401,
      expect.stringContaining('neither an API token, which begins with sy-api-'),
    ])
  for (const token of ['sy-api-', `sy-api-${'a'.repeat(43)}`])
    expect(await told(`Bearer ${token}`)).toEqual([
      401,
      expect.stringContaining('This API token is not valid'),
    ])
  expect(await told('Bearer a.b.c')).toEqual([401, 'Session expired. Please sign in again.'])
})

test('each request of a connection is authenticated by its own token', async () => {
  const other = await backend.signIn()
  const base = await listening()
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const ports = new Set<number>()
  const askedBy = (authorization: string) =>
    new Promise<unknown>((resolve, reject) => {
      const headers = authorization === '' ? {} : { authorization }
      get(`${base}/v1/session`, { agent, headers }, (response) => {
        ports.add(response.socket.localPort!)
        resolve(
          json(response).then((body) => {
            const { user, code } = body as { user?: { email: string }; code?: string }
            return user?.email ?? code
          }),
        )
      }).on('error', reject)
    })
  const seen: unknown[] = []
  const [mine, theirs] = [`Bearer ${admin.accessToken}`, `Bearer ${other.accessToken}`]
  for (const authorization of [
    mine,
    mine,
    theirs,
    '',
    mine,
    `${mine}x`,
    `Basic ${admin.accessToken}`,
    theirs,
  ])
    seen.push(await askedBy(authorization))
  const refused = 'session_expired'
  expect(seen).toEqual([
    admin.email,
    admin.email,
    other.email,
    refused,
    admin.email,
    refused,
    refused,
    other.email,
  ])
  expect(ports.size).toBe(1)
  agent.destroy()
})

test('every response has the security headers', async () => {
  const answers = await Promise.all([
    send('GET', '/v1/datacenters'),
    send('GET', '/v1/nothing'),
    send('GET', '/v1/datacenters/%zz'),
    send('PUT', '/v1/datacenters', '{}'),
    post('{'),
    backend.app.inject({ url: '/v1/datacenters' }),
    backend.app.inject({ url: '/healthz' }),
    backend.app.inject({ url: '/v1/openapi.json' }),
    backend.app.inject({ url: '/metrics' }),
  ])
  for (const { headers } of answers) {
    expect(headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'cache-control': 'no-store',
    })
    expect(headers['content-security-policy']).toContain("default-src 'none'")
    expect(headers['content-type']).toMatch(/charset=utf-8$|^application\/json$/)
    expect(headers['access-control-allow-origin']).toBeUndefined()
  }
})

test('HSTS is sent if a certificate is configured', async () => {
  expect(
    (await backend.app.inject({ url: '/healthz' })).headers['strict-transport-security'],
  ).toBeUndefined()
})

test('the version is the ETag; a stale If-Match changes nothing; without If-Match the last write wins', async () => {
  const made = await admin.call(datacenterCreate, { body: { ...poznan, city_code: 'ETG' } })
  expect(made.headers['etag']).toBe('"1"')
  const params = { id: made.answer!.id }
  const first = await admin.call(datacenterUpdate, { params, body: { tier: 4 } }, { ifMatch: 1 })
  expect(first).toMatchObject({ status: 200, answer: { tier: 4, version: 2 } })
  const stale = await admin.call(datacenterUpdate, { params, body: { tier: 1 } }, { ifMatch: 1 })
  expect(stale).toMatchObject({ status: 412, problem: { code: 'stale' } })
  expect((await admin.call(datacenterUpdate, { params, body: { tier: 2 } })).answer).toMatchObject({
    tier: 2,
    version: 3,
  })
  expect(await admin.call(datacenterRemove, { params }, { ifMatch: 1 })).toMatchObject({
    status: 412,
    problem: { code: 'stale' },
  })
  const either = (tags: string) =>
    admin.call(datacenterUpdate, { params, body: { tier: 2 } }, { headers: { 'if-match': tags } })
  expect(await either('"1", "2"')).toMatchObject({ status: 412, problem: { code: 'stale' } })
  expect(await either('"of-another-server"')).toMatchObject({
    status: 412,
    problem: { code: 'stale' },
  })
  expect(await either('"1", W/"3"')).toMatchObject({ status: 200, answer: { version: 4 } })
  expect(
    (await admin.call(datacenterGet, { params }, { headers: { 'if-none-match': 'W/"1", W/"4"' } }))
      .status,
  ).toBe(304)
  const unchanged = await admin.call(
    datacenterGet,
    { params },
    { headers: { 'if-none-match': '"4"' } },
  )
  expect(unchanged).toMatchObject({ status: 304, text: '' })
})

test('the response to an unexpected error contains no details', async () => {
  const own = await startBackend()
  own.platform.db.selectFrom = () => {
    throw new Error('secret of the house: table "person"')
  }
  const response = await own.app.inject({
    method: 'POST',
    url: '/v1/authorize',
    headers: { 'content-type': 'application/json' },
    payload: JSON.stringify({ email: 'a@example.com', password: 'x' }),
  })
  expect(response.statusCode).toBe(500)
  expect(response.json()).toEqual({
    error: 'Something went wrong on our side',
    code: 'internal',
    request_id: response.headers['x-request-id'],
  })
})

test('X-Forwarded-For is used only if it comes from a trusted proxy', async () => {
  const lines: string[] = []
  const note = (event: string, fields?: object) =>
    void lines.push(JSON.stringify({ event, ...fields }))
  const own = await startBackend({ log: { debug: note, info: note, warn: note, error: note } })
  await own.app.inject({
    url: '/v1/session',
    headers: { 'x-forwarded-for': '198.51.100.7', 'user-agent': 'a\r\nb' },
  })
  expect(lines.join('\n')).not.toContain('198.51.100.7')
  expect(lines.join('\n')).toContain('127.0.0.1')
})

test('Permissions-Policy disables browser features, and names only features that browsers know', async () => {
  const { headers } = await backend.app.inject({ url: '/v1/installation' })
  expect(headers['permissions-policy']).toContain('camera=()')
  // Chromium would log a warning, because it knows this feature only as an experiment.
  expect(headers['permissions-policy']).not.toContain('bluetooth')
})

test('health, readiness and metrics need no session', async () => {
  expect((await backend.app.inject({ url: '/healthz' })).json()).toEqual({ ok: true })
  expect((await backend.app.inject({ url: '/readyz' })).json()).toEqual({ ok: true })
  const metrics = await backend.app.inject({ url: '/metrics' })
  expect(metrics.body).toContain('steelyard_database_up 1')
  for (const line of metrics.body.trim().split('\n'))
    expect(line).toMatch(/^(#.*|[a-z0-9_]+(\{[^}]*\})? (NaN|[\d.e+-]+))?$/)
})

test('the OpenAPI document names every call, and every schema reference resolves', async () => {
  const document = (await backend.app.inject({ url: '/v1/openapi.json' })).json<{
    openapi: string
    paths: Record<string, Record<string, { operationId: string; responses: object }>>
  }>()
  expect(document.openapi).toBe('3.1.0')
  expect(document.paths['/v1/nodes/{id}'] ?? document.paths['/v1/nodes/{node_id}']).toHaveProperty(
    'patch',
  )
  expect(document.paths['/v1/datacenters']!['post']!.responses).toHaveProperty('201')
  const refs = [...JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g)].map((m) =>
    m[1]!.split('/'),
  )
  for (const parts of refs)
    expect(
      parts.reduce<unknown>(
        (at, part) => (at as Record<string, unknown> | undefined)?.[part],
        document,
      ),
    ).toBeDefined()
})

test.each([
  [
    'two lengths',
    'POST /v1/authorize HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\n{}{}x',
  ],
  [
    'a length beside chunks',
    'POST /v1/authorize HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  ],
  ['bare line feeds in its headers', 'GET /healthz HTTP/1.1\nHost: x\nX: y\n\n'],
  [
    'chunks, with an extension',
    'POST /v1/authorize HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n2;a=b\r\n{}\r\n0\r\n\r\n',
  ],
  ['two hosts', 'GET /healthz HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n'],
  ['no host', 'GET /healthz HTTP/1.1\r\n\r\n'],
  ['headers past 16 KiB', `GET /healthz HTTP/1.1\r\nHost: x\r\nX: ${'y'.repeat(20_000)}\r\n\r\n`],
])('a request with %s is refused, and the connection is closed', async (_name, text) => {
  const port = Number(new URL(await listening()).port)
  const answer = await new Promise<string>((resolve, reject) => {
    const socket = dial(port, '127.0.0.1', () => socket.write(text))
    let seen = ''
    socket.on('data', (chunk: Buffer) => (seen += chunk.toString()))
    socket.on('close', () => resolve(seen))
    socket.on('error', reject)
    socket.setTimeout(5000, () => reject(new Error(`still open after: ${seen}`)))
  })
  expect(answer).toMatch(/^HTTP\/1\.1 4(00|31) /)
  const [head, body] = answer.split('\r\n\r\n') as [string, string]
  expect(JSON.parse(body)).toMatchObject({
    code: 'bad_request',
    request_id: /x-request-id: (\S+)/.exec(head)![1],
  })
  for (const header of [
    'x-content-type-options: nosniff',
    'cache-control: no-store',
    "content-security-policy: default-src 'none'",
  ])
    expect(head).toContain(header)
})

test('an unknown Expect header is ignored, and an unsupported method gets 405', async () => {
  const port = Number(new URL(await listening()).port)
  const ask = (text: string) =>
    new Promise<string>((resolve, reject) => {
      const socket = dial(port, '127.0.0.1', () => socket.write(text))
      let seen = ''
      socket.on('data', (chunk: Buffer) => (seen += chunk.toString()))
      socket.on('close', () => resolve(seen))
      socket.on('error', reject)
    })
  const expecting = await ask(
    'GET /healthz HTTP/1.1\r\nHost: x\r\nExpect: miracles\r\nConnection: close\r\n\r\n',
  )
  expect(expecting).toMatch(/^HTTP\/1\.1 200 [\s\S]*x-content-type-options: nosniff/)
  for (const method of ['QUERY', 'PROPFIND', 'TRACE']) {
    const answer = await ask(`${method} /v1/nodes HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
    expect(answer).toMatch(
      /^HTTP\/1\.1 405 [\s\S]*x-content-type-options: nosniff[\s\S]*allow: GET, HEAD, POST/,
    )
  }
})
