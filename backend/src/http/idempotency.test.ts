import { createHash, createHmac, randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import * as z from 'zod/mini'
import { datacenterCreate, datacenterList, datacenterRemove } from '#contract/datacenters.ts'
import { joinTokenCreate } from '#contract/join-tokens.ts'
import type { Operation } from '#contract/operation.ts'
import { patchCreate } from '#contract/patches.ts'
import { serverAdd } from '#contract/servers/servers.ts'
import { preferencesPut } from '#contract/people/preferences.ts'
import { subnetCreate } from '#contract/network/subnets.ts'
import { userCreate } from '#contract/users.ts'
import { longTests, spread } from '../../../tools/testing/length.ts'
import { rotationKey } from '../vault/vault.ts'
import { buildServer } from '../domains/servers/testing.ts'
import { type Backend, startBackend } from '../testing/backend.ts'

const backend = await startBackend({
  environment: { STEELYARD_SIMULATE: '1', STEELYARD_DIAL_NETWORKS: '127.20.0.0/16' },
})
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
/** Hashes a request as the app does: its path and parsed body. */
const hashOf = (body: object): Buffer =>
  createHmac('sha256', hashKey)
    .update(
      JSON.stringify(['idempotency', '/v1/datacenters', z.parse(datacenterCreate.body, body)]),
    )
    .digest()
const { id: datacenterId } = (await admin.call(datacenterCreate, { body: place('IDS') })).answer!
const count = async (city: string) =>
  (await admin.call(datacenterList, { query: { q: city } })).answer!.total

test('fifty identical calls with one key create one object and get the same response', async () => {
  // A call that waits too long for the first, on a busy machine, is asked again, as the client does.
  const create = async (): Promise<
    Awaited<ReturnType<typeof admin.call<typeof datacenterCreate>>>
  > => {
    const one = await admin.call(
      datacenterCreate,
      { body: place('AAA') },
      { idempotencyKey: 'once' },
    )
    return one.problem?.code === 'idempotency_running' ? create() : one
  }
  const all = await Promise.all(Array.from({ length: 50 }, create))
  expect(all.map((a) => a.status)).toEqual(Array.from({ length: 50 }, () => 201))
  expect(new Set(all.map((a) => a.text)).size).toBe(1)
  expect(new Set(all.map((a) => a.headers['etag']))).toEqual(new Set(['"1"']))
  expect(await count('AAA')).toBe(1)
})

test('the same key with another body is refused', async () => {
  await admin.call(datacenterCreate, { body: place('BBB') }, { idempotencyKey: 'mismatch' })
  const other = await admin.call(
    datacenterCreate,
    { body: place('BBC') },
    { idempotencyKey: 'mismatch' },
  )
  expect(other).toMatchObject({ status: 422, problem: { code: 'idempotency_mismatch' } })
  expect(await count('BBC')).toBe(0)
})

test('responses are stored encrypted, and a response stored without encryption is not sent again', async () => {
  const { text } = await admin.call(
    datacenterCreate,
    { body: place('SSS') },
    { idempotencyKey: 'sealed' },
  )
  const rows = await backend.platform.db
    .selectFrom('idempotent_call')
    .selectAll()
    .where('key', '=', 'sealed')
    .execute()
  expect(rows).toHaveLength(1)
  // Too long to be in the base64 of a response by chance.
  expect(text).toContain('city_code')
  expect(JSON.stringify(rows)).not.toContain('city_code')
  expect(
    (await admin.call(datacenterCreate, { body: place('SSS') }, { idempotencyKey: 'sealed' })).text,
  ).toBe(text)
  // A response stored unencrypted, as older versions did, is not replayed.
  await backend.platform.db
    .updateTable('idempotent_call')
    .set({ answer: JSON.stringify({ body: text, etag: null }) })
    .where('key', '=', 'sealed')
    .execute()
  expect(
    await admin.call(datacenterCreate, { body: place('SSS') }, { idempotencyKey: 'sealed' }),
  ).toMatchObject({
    status: 409,
    problem: { code: 'conflict' },
  })
})

test('a key is valid only for its user and its operation', async () => {
  const another = await backend.signIn()
  const mine = await admin.call(
    datacenterCreate,
    { body: place('CCC') },
    { idempotencyKey: 'shared' },
  )
  const theirs = await another.call(
    datacenterCreate,
    { body: place('CCC') },
    { idempotencyKey: 'shared' },
  )
  expect(mine.answer!.id).not.toBe(theirs.answer!.id)
  expect(
    (
      await admin.call(
        datacenterRemove,
        { params: { id: mine.answer!.id } },
        { idempotencyKey: 'shared' },
      )
    ).status,
  ).toBe(204)
  // A repeat gets the stored answer, although the object is gone.
  expect(
    (
      await admin.call(
        datacenterRemove,
        { params: { id: mine.answer!.id } },
        { idempotencyKey: 'shared' },
      )
    ).status,
  ).toBe(204)
})

test('a refused call can be repeated with the same key', async () => {
  const refused = await admin.call(
    datacenterCreate,
    { body: { ...place('DDD'), latitude: 1 } },
    { idempotencyKey: 'again' },
  )
  expect(refused.status).toBe(422)
  expect(
    (await admin.call(datacenterCreate, { body: place('DDD') }, { idempotencyKey: 'again' }))
      .status,
  ).toBe(201)
})

test('a repeat of a running call gets 409 with Retry-After', async () => {
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
  const waiting = await admin.call(
    datacenterCreate,
    { body: place('EEE') },
    { idempotencyKey: 'slow' },
  )
  expect(waiting).toMatchObject({ status: 409, problem: { code: 'idempotency_running' } })
  expect(waiting.headers['retry-after']).toBe('1')
})

test('if a process died before its commit, the key is free at once; if it died after the commit, nothing is done twice', async () => {
  const { db, owner } = backend.platform
  const silent = new Date(Date.now() - 60_000)
  const row = (key: string, more: { owner: string; beat_at?: Date; committed_at?: Date }) => ({
    person_id: admin.userId,
    operation: 'datacenterCreate',
    key,
    request_hash: hashOf(place('FFF')),
    started_at: new Date(backend.clock.now()),
    status: null,
    ...more,
  })
  await db
    .insertInto('idempotent_call')
    .values([
      row('died-late', { owner, committed_at: new Date(backend.clock.now()) }),
      row('other-lives', { owner: 'another' }),
      row('died-early', { owner }),
      row('other-died', { owner: 'another', beat_at: silent }),
    ])
    .execute()
  const send = (key: string) =>
    admin.call(datacenterCreate, { body: place('FFF') }, { idempotencyKey: key })
  expect((await send('died-late')).problem).toMatchObject({ code: 'conflict' })
  expect((await send('other-lives')).problem).toMatchObject({ code: 'idempotency_running' })
  expect(await count('FFF')).toBe(0)
  expect((await send('died-early')).status).toBe(201)
  expect((await send('other-died')).status).toBe(201)
})

test('a change is rolled back if another process has taken over the call', async () => {
  const { db } = backend.platform
  const late = db.transaction().execute(async (tx) => {
    // The creation of a datacenter in the same city waits for this row, inside of its transaction.
    await tx
      .insertInto('city_index')
      .values({ country_code: 'PL', city_code: 'OVR', last_index: 1 })
      .execute()
    const call = admin.call(
      datacenterCreate,
      { body: place('OVR') },
      { idempotencyKey: 'overtaken' },
    )
    await expect
      .poll(() =>
        db.selectFrom('idempotent_call').select('claim').where('key', '=', 'overtaken').execute(),
      )
      .toHaveLength(1)
    await db
      .updateTable('idempotent_call')
      .set({ claim: randomUUID(), owner: 'another' })
      .where('key', '=', 'overtaken')
      .execute()
    return { call }
  })
  expect(await (await late).call).toMatchObject({
    status: 409,
    problem: { code: 'idempotency_running' },
  })
  expect(await count('OVR')).toBe(0)
})

/**
 * `doomed` fails each call right after the commit, like a killed process. `sound` is another
 * process, which gets the same call again.
 */
const doomed = await startBackend({
  beside: backend,
  environment: {
    STEELYARD_SIMULATE: '1',
    STEELYARD_DIAL_NETWORKS: '127.20.0.0/16',
    FAILPOINT: 'answer:after',
  },
})
const killed: [string, Operation, () => object | Promise<object>][] = [
  ['a datacenter', datacenterCreate, () => ({ body: place('KAA') })],
  [
    'removing a datacenter',
    datacenterRemove,
    async () => ({
      params: { id: (await admin.call(datacenterCreate, { body: place('KAB') })).answer!.id },
    }),
  ],
  [
    'a user',
    userCreate,
    () => ({
      body: {
        email: 'killed@example.com',
        name: 'K',
        role: 'viewer',
        password: 'not so good a word',
      },
    }),
  ],
  ['a join token, which is shown once', joinTokenCreate, () => ({ body: { name: 'killed' } })],
  [
    'a subnet',
    subnetCreate,
    () => ({ body: { name: 'killed', cidr: '10.77.0.0/24', datacenter_id: datacenterId } }),
  ],
  [
    'a patch',
    patchCreate,
    async () => ({
      params: { id: await buildServer(backend, { address: '10.0.7.7' }) },
      body: { name: 'killed', body: 'machine:\n  sysctls:\n    a.b: "1"\n' },
    }),
  ],
  ['servers', serverAdd, () => ({ body: { addresses: ['127.20.0.9'] } })],
]
test.each(spread(killed, 3))(
  'if the process is killed between the commit and the response for %s, a repeat with the same key gets the first response',
  async (what, operation, input) => {
    const asked = await input()
    const send = (on: Backend) => {
      const { params = {}, body } = asked as { params?: Record<string, string>; body?: object }
      const url = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => params[name]!)
      const headers = {
        authorization: `Bearer ${admin.accessToken}`,
        'content-type': 'application/json',
        'idempotency-key': `killed ${what}`.replaceAll(/[^a-z]/g, '-'),
      }
      return on.app.inject({
        method: operation.method,
        url,
        headers,
        ...(body && { payload: JSON.stringify(body) }),
      })
    }
    expect((await send(doomed)).statusCode).toBe(500)
    const [first, again] = [await send(backend), await send(backend)]
    expect(first.statusCode).toBe(operation.status)
    expect(again.body).toBe(first.body)
  },
)

test('very many writes of preferences with keys store no responses', async () => {
  const viewer = await backend.signIn({ role: 'viewer' })
  const { db } = backend.platform
  for (let round = 0; round < (longTests ? 20 : 2); round++) {
    const keys = Array.from({ length: 100 }, (_, i) => `preferences-${round}-${i}`)
    const all = await Promise.all(
      keys.map((idempotencyKey) =>
        viewer.call(preferencesPut, { body: { theme: 'dark' } }, { idempotencyKey }),
      ),
    )
    expect(new Set(all.map((a) => a.status))).toEqual(new Set([200]))
  }
  expect(
    await db
      .selectFrom('idempotent_call')
      .select('key')
      .where('person_id', '=', viewer.userId)
      .execute(),
  ).toEqual([])
})

/** Rows of calls that a user made some time ago, the oldest first. */
const answeredCalls = (person_id: string, count: number) =>
  Array.from({ length: count }, (_, i) => ({
    person_id,
    operation: 'datacenterCreate',
    key: `old-${i}`,
    request_hash: Buffer.alloc(32),
    started_at: new Date(backend.clock.now()),
    status: 201,
    answer: JSON.stringify({ sealed: 'x'.repeat(3_584) }),
    bytes: 4_096,
    committed_at: new Date(backend.clock.now()),
    answered_at: new Date(backend.clock.now() - 1_000_000 + i),
  }))
const callsOf = (userId: string) =>
  backend.platform.db
    .selectFrom('idempotent_call')
    .select(['key', 'answer', 'bytes'])
    .where('person_id', '=', userId)
    .execute()

test('at most one MiB of responses is stored per user: the oldest are dropped, but not their keys; running calls and other users’ responses stay', async () => {
  const { db } = backend.platform
  const [many, other] = [await backend.signIn(), await backend.signIn()]
  for (const { userId } of [many, other])
    await db.insertInto('idempotent_call').values(answeredCalls(userId, 300)).execute()
  await db
    .insertInto('idempotent_call')
    .values({
      ...answeredCalls(many.userId, 1)[0]!,
      key: 'runs',
      answered_at: null,
      committed_at: null,
      answer: null,
    })
    .execute()
  expect(
    (await many.call(datacenterCreate, { body: place('MIB') }, { idempotencyKey: 'newest' }))
      .status,
  ).toBe(201)
  const calls = await callsOf(many.userId)
  expect(calls).toHaveLength(302)
  const kept = calls.filter(({ answer }) => answer !== null)
  expect(kept.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThanOrEqual(1024 * 1024)
  const keys = new Set(kept.map(({ key }) => key))
  expect(['newest', 'old-299'].every((key) => keys.has(key))).toBe(true)
  expect(keys.has('old-0')).toBe(false)
  expect((await callsOf(other.userId)).every(({ answer }) => answer !== null)).toBe(true)
})

test('the responses that a user adds later are counted too', async () => {
  const { db } = backend.platform
  const user = await backend.signIn()
  const send = (idempotencyKey: string) =>
    user.call(datacenterCreate, { body: place('ADD') }, { idempotencyKey })
  await send('first')
  await db.insertInto('idempotent_call').values(answeredCalls(user.userId, 300)).execute()
  for (let i = 0; i < 100; i++) await send(`next-${i}`)
  const stored = (await callsOf(user.userId)).reduce((sum, { bytes }) => sum + bytes, 0)
  expect(stored).toBeLessThanOrEqual(1024 * 1024)
})

test('a call whose response was dropped is not carried out again', async () => {
  const user = await backend.signIn()
  const send = (key: string) =>
    user.call(datacenterCreate, { body: place('DRP') }, { idempotencyKey: key })
  expect((await send('dropped')).status).toBe(201)
  await backend.platform.db
    .insertInto('idempotent_call')
    .values(
      answeredCalls(user.userId, 300).map((call) => ({
        ...call,
        answered_at: new Date(backend.clock.now() + 1),
      })),
    )
    .execute()
  // Another process, which has not stored anything of this user.
  const beside = await startBackend({ beside: backend })
  const again = await beside.app.inject({
    method: 'POST',
    url: datacenterCreate.path,
    headers: { authorization: `Bearer ${user.accessToken}`, 'idempotency-key': 'other' },
    payload: place('OTH'),
  })
  expect(again.statusCode).toBe(201)
  expect((await send('dropped')).problem).toMatchObject({
    code: 'conflict',
    error: expect.stringContaining('its response was lost') as string,
  })
  expect(await count('DRP')).toBe(1)
})

test('of very many keys of a user, the oldest are removed', async () => {
  const { db } = backend.platform
  const user = await backend.signIn()
  const now = new Date(backend.clock.now())
  await sql`insert into idempotent_call
      (person_id, operation, key, request_hash, started_at, committed_at, answered_at, status, bytes)
    select ${user.userId}, 'datacenterCreate', 'old-' || i, '\\x00', ${now}, ${now},
      ${now}::timestamptz - interval '1 day' + i * interval '1 millisecond', 201, 0
    from generate_series(1, 50500) i`.execute(db)
  await user.call(datacenterCreate, { body: place('KEY') }, { idempotencyKey: 'newest' })
  const keys = new Set((await callsOf(user.userId)).map(({ key }) => key))
  expect(keys.size).toBe(50_000)
  expect(keys.has('newest')).toBe(true)
  expect(keys.has('old-501')).toBe(false)
  expect(keys.has('old-502')).toBe(true)
})

test('a key is 1 to 128 visible characters', async () => {
  for (const key of [' ', 'x'.repeat(129), 'a b'])
    expect(
      (await admin.call(datacenterCreate, { body: place('HHH') }, { idempotencyKey: key })).status,
    ).toBe(400)
})

test('keys expire after a day', async () => {
  const own = await startBackend()
  const user = await own.signIn()
  await user.call(datacenterCreate, { body: place('AAA') }, { idempotencyKey: 'k' })
  own.clock.advance(24 * 3600_000 + 1)
  for (const domain of own.domains.all) await domain.removeOld?.()
  expect(await own.platform.db.selectFrom('idempotent_call').select('key').execute()).toEqual([])
})

test("the stored hash of a body can't be used to guess the password in that body", async () => {
  const body = {
    email: 'guessed@example.com',
    name: 'Guessed',
    role: 'viewer' as const,
    password: 'not so good a password',
  }
  expect((await admin.call(userCreate, { body }, { idempotencyKey: 'guessed' })).status).toBe(201)
  const row = await backend.platform.db
    .selectFrom('idempotent_call')
    .select('request_hash')
    .where('key', '=', 'guessed')
    .executeTakeFirstOrThrow()
  const guesses = [
    JSON.stringify(['/v1/users', body]),
    JSON.stringify(['idempotency', '/v1/users', body]),
    JSON.stringify(body),
  ]
  for (const guess of guesses)
    expect(Buffer.from(row.request_hash).equals(createHash('sha256').update(guess).digest())).toBe(
      false,
    )
  expect(await admin.call(userCreate, { body }, { idempotencyKey: 'guessed' })).toMatchObject({
    status: 201,
    answer: { email: 'guessed@example.com' },
  })
})
