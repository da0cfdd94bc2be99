import { createHash, createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import * as z from 'zod/mini'
import { datacenterCreate, datacenterList, datacenterRemove } from '#contract/datacenters.ts'
import { userCreate } from '#contract/users.ts'
import { rotationKey } from '../domains/sessions/rotation-key.ts'
import { startBackend } from '../testing/backend.ts'

const backend = await startBackend()
const admin = await backend.signIn()
const place = (city_code: string) => ({
  country_code: 'PL',
  city_code,
  city_name: 'Somewhere',
  tier: null,
  certifications: [],
  latitude: null,
  longitude: null,
})
const hashKey = await rotationKey(backend.platform)()
/** As the app hashes a request: path and parsed body. */
const hashOf = (body: object): Buffer =>
  createHmac('sha256', hashKey)
    .update(JSON.stringify(['idempotency', '/v1/datacenters', z.parse(datacenterCreate.body, body)]))
    .digest()
const count = async (city: string) => (await admin.call(datacenterList, { query: { q: city } })).answer!.total

test('fifty identical creates with one key make one, and all are given the same answer', async () => {
  const all = await Promise.all(Array.from({ length: 50 }, () => admin.call(datacenterCreate, { body: place('AAA') }, { idempotencyKey: 'once' })))
  expect(all.map((a) => a.status)).toEqual(Array.from({ length: 50 }, () => 201))
  expect(new Set(all.map((a) => a.text)).size).toBe(1)
  expect(new Set(all.map((a) => a.headers['etag']))).toEqual(new Set(['"1"']))
  expect(await count('AAA')).toBe(1)
})

test('the same key with another body is refused', async () => {
  await admin.call(datacenterCreate, { body: place('BBB') }, { idempotencyKey: 'mismatch' })
  const other = await admin.call(datacenterCreate, { body: place('BBC') }, { idempotencyKey: 'mismatch' })
  expect(other).toMatchObject({ status: 422, problem: { code: 'idempotency_mismatch' } })
  expect(await count('BBC')).toBe(0)
})

test('what is kept of an answer can be read by nobody who reads the database', async () => {
  const { text } = await admin.call(datacenterCreate, { body: place('SSS') }, { idempotencyKey: 'sealed' })
  const rows = await backend.platform.db.selectFrom('idempotent_call').selectAll().where('key', '=', 'sealed').execute()
  expect(rows).toHaveLength(1)
  expect(JSON.stringify(rows)).not.toContain('SSS')
  expect((await admin.call(datacenterCreate, { body: place('SSS') }, { idempotencyKey: 'sealed' })).text).toBe(text)
  // An answer that was kept in clear, before answers were sealed, is not given out again.
  await backend.platform.db
    .updateTable('idempotent_call')
    .set({ answer: JSON.stringify({ body: text, etag: null }) })
    .where('key', '=', 'sealed')
    .execute()
  expect(await admin.call(datacenterCreate, { body: place('SSS') }, { idempotencyKey: 'sealed' })).toMatchObject({
    status: 409,
    problem: { code: 'conflict' },
  })
})

test('a key belongs to its user and its operation', async () => {
  const another = await backend.signIn()
  const mine = await admin.call(datacenterCreate, { body: place('CCC') }, { idempotencyKey: 'shared' })
  const theirs = await another.call(datacenterCreate, { body: place('CCC') }, { idempotencyKey: 'shared' })
  expect(mine.answer!.id).not.toBe(theirs.answer!.id)
  expect((await admin.call(datacenterRemove, { params: { id: mine.answer!.id } }, { idempotencyKey: 'shared' })).status).toBe(204)
  // Sent again: the stored answer, though the object is gone.
  expect((await admin.call(datacenterRemove, { params: { id: mine.answer!.id } }, { idempotencyKey: 'shared' })).status).toBe(204)
})

test('a refused call may be tried again with its key', async () => {
  const refused = await admin.call(datacenterCreate, { body: { ...place('DDD'), latitude: 1 } }, { idempotencyKey: 'again' })
  expect(refused.status).toBe(422)
  expect((await admin.call(datacenterCreate, { body: place('DDD') }, { idempotencyKey: 'again' })).status).toBe(201)
})

test('a call that is still running is answered 409 with when to come back', async () => {
  const { db } = backend.platform
  await db
    .insertInto('idempotent_call')
    .values({
      person_id: admin.userId,
      operation: 'datacenterCreate',
      key: 'slow',
      request_hash: hashOf(place('EEE')),
      started_at: new Date(backend.clock.now()),
      status: null,
    })
    .execute()
  const waiting = await admin.call(datacenterCreate, { body: place('EEE') }, { idempotencyKey: 'slow' })
  expect(waiting).toMatchObject({ status: 409, problem: { code: 'idempotency_running' } })
  expect(waiting.headers['retry-after']).toBe('1')
})

test('the key of a process that died before it did anything may be used; after the commit it is not done twice', async () => {
  const { db } = backend.platform
  const row = (key: string, committed: boolean) => ({
    person_id: admin.userId,
    operation: 'datacenterCreate',
    key,
    request_hash: hashOf(place('FFF')),
    started_at: new Date(backend.clock.now() - 130_000),
    committed_at: committed ? new Date(backend.clock.now() - 130_000) : null,
    status: null,
  })
  await db
    .insertInto('idempotent_call')
    .values([row('died-early', false), row('died-late', true)])
    .execute()
  expect((await admin.call(datacenterCreate, { body: place('FFF') }, { idempotencyKey: 'died-late' })).problem).toMatchObject({ code: 'conflict' })
  expect(await count('FFF')).toBe(0)
  expect((await admin.call(datacenterCreate, { body: place('FFF') }, { idempotencyKey: 'died-early' })).status).toBe(201)
})

test('the change itself marks the key, in its own transaction', async () => {
  await admin.call(datacenterCreate, { body: place('GGG') }, { idempotencyKey: 'marked' })
  const { committed_at } = await backend.platform.db.selectFrom('idempotent_call').select('committed_at').where('key', '=', 'marked').executeTakeFirstOrThrow()
  expect(committed_at).not.toBeNull()
})

test('a key is 1 to 128 visible characters', async () => {
  for (const key of [' ', 'x'.repeat(129), 'a b'])
    expect((await admin.call(datacenterCreate, { body: place('HHH') }, { idempotencyKey: key })).status).toBe(400)
})

test('keys are forgotten after a day', async () => {
  const own = await startBackend()
  const user = await own.signIn()
  await user.call(datacenterCreate, { body: place('AAA') }, { idempotencyKey: 'k' })
  own.clock.advance(24 * 3600_000 + 1)
  for (const domain of own.domains.all) await domain.removeOld?.()
  expect(await own.platform.db.selectFrom('idempotent_call').select('key').execute()).toEqual([])
})

test('what is kept of a body does not let its password be guessed', async () => {
  const body = { email: 'guessed@example.com', name: 'Guessed', role: 'viewer' as const, password: 'not so good a password' }
  expect((await admin.call(userCreate, { body }, { idempotencyKey: 'guessed' })).status).toBe(201)
  const row = await backend.platform.db.selectFrom('idempotent_call').select('request_hash').where('key', '=', 'guessed').executeTakeFirstOrThrow()
  const guesses = [JSON.stringify(['/v1/users', body]), JSON.stringify(['idempotency', '/v1/users', body]), JSON.stringify(body)]
  for (const guess of guesses) expect(Buffer.from(row.request_hash).equals(createHash('sha256').update(guess).digest())).toBe(false)
  expect(await admin.call(userCreate, { body }, { idempotencyKey: 'guessed' })).toMatchObject({ status: 201, answer: { email: 'guessed@example.com' } })
})
