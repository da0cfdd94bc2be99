import { expect, test } from 'vitest'
import { gunzipSync } from 'node:zlib'
import { serverList, serverUpdate } from '#contract/servers/servers.ts'
import { buildServer } from '../domains/servers/testing.ts'
import { startBackend } from '../testing/backend.ts'

const backend = await startBackend()
const operator = await backend.signIn({ role: 'operator' })
const ids = await Promise.all(Array.from({ length: 40 }, () => buildServer(backend)))
const list = (headers: Record<string, string> = {}, more = '') =>
  backend.app.inject({
    url: `${serverList.path}?per_page=1000${more}`,
    headers: { authorization: `Bearer ${operator.accessToken}`, ...headers },
  })

test('a long list is compressed, with the same content, for clients that accept compression', async () => {
  const plain = await list()
  expect(plain.headers).toMatchObject({ vary: 'accept-encoding' })
  expect(plain.headers['content-encoding']).toBeUndefined()
  const packed = await list({ 'accept-encoding': 'gzip, deflate, br' })
  expect(packed.headers).toMatchObject({
    'content-encoding': 'gzip',
    vary: 'accept-encoding',
    'content-type': 'application/json; charset=utf-8',
  })
  expect(gunzipSync(packed.rawPayload).toString()).toBe(plain.body)
  expect(packed.rawPayload.length).toBeLessThan(plain.rawPayload.length / 5)
  expect((await list({ 'accept-encoding': 'gzip;q=0' })).body).toBe(plain.body)
})

test('the two forms of a list have different tags', async () => {
  const { headers, body } = await list()
  const rows = await list({ 'if-none-match': String(headers['etag']) }, '&fields=list')
  expect(rows.statusCode).toBe(200)
  expect(rows.body.length).toBeLessThan(body.length * 0.6)
  expect(
    await list({ 'if-none-match': String(rows.headers['etag']) }, '&fields=list'),
  ).toMatchObject({ statusCode: 304, body: '' })
})

test('a client that has the current list gets 304, and after a change the new list', async () => {
  const { etag } = (await list()).headers
  expect(etag).toMatch(/^W\/"[\w-]{22}"$/)
  expect(await list({ 'if-none-match': String(etag), 'accept-encoding': 'gzip' })).toMatchObject({
    statusCode: 304,
    body: '',
    headers: { vary: 'accept-encoding' },
  })
  await operator.call(serverUpdate, { params: { id: ids[0]! }, body: { name: 'another-name-001' } })
  const changed = await list({ 'if-none-match': String(etag) })
  expect(changed.statusCode).toBe(200)
  expect(changed.body).toContain('another-name-001')
  expect(changed.headers['etag']).not.toBe(etag)
})
