import { createHash, randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { auditList } from '#contract/audit.ts'
import { datacenterCreate, datacenterRemove } from '#contract/datacenters.ts'
import {
  joinTokenArrivals,
  joinTokenCreate,
  joinTokenGet,
  joinTokenList,
  joinTokenPattern,
  joinTokenRevoke,
} from '#contract/join-tokens.ts'
import { startBackend } from '../../testing/backend.ts'

const backend = await startBackend({
  environment: { STEELYARD_PUBLIC_URL: 'https://steelyard.example.com' },
})
const { db } = backend.platform
const operator = await backend.signIn({ role: 'operator' })
const viewer = await backend.signIn({ role: 'viewer' })
const create = async (name: string, more: object = {}) =>
  operator.call(joinTokenCreate, { body: { name, ...more } })
const made = async (name: string, more: object = {}) => (await create(name, more)).answer!
const hour = 3600_000

test('only the response to the creation contains the token and the kernel argument', async () => {
  const { token, kernel_argument, id, ...rest } = await made('rack-12', { max_uses: 4 })
  expect(token).toMatch(joinTokenPattern)
  expect(kernel_argument).toBe(
    `talos.config=https://steelyard.example.com/join/${token}?uuid=\${uuid}&serial=\${serial}&mac=\${mac}`,
  )
  expect(rest).toMatchObject({
    name: 'rack-12',
    status: 'usable',
    uses: 0,
    max_uses: 4,
    datacenter: null,
    created_by: operator.email,
  })
  expect(Date.parse(rest.expires_at!) - backend.clock.now()).toBe(168 * hour)
  const { hash } = await db
    .selectFrom('join_token')
    .select('hash')
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  expect(Buffer.from(hash)).toEqual(createHash('sha256').update(token).digest())
  const read = await operator.call(joinTokenGet, { params: { id } })
  expect(read.answer).toEqual({ id, ...rest })
  for (const text of [read.text, (await operator.call(joinTokenList)).text])
    expect(text).not.toContain(token)
})

test('every process derives the same text for a token', async () => {
  const { id, token } = await made('again')
  const other = await startBackend({ beside: backend })
  for (const { domains } of [backend, other])
    expect(await domains.joining.tokenFor(db, id)).toEqual({
      text: token,
      name: 'again',
      status: 'usable',
      datacenterId: null,
    })
  expect(await backend.domains.joining.tokenFor(db, randomUUID())).toBeNull()
  expect((await made('different')).token).not.toBe(token)
})

test('the key of join tokens is sealed, and two processes that create it concurrently end up with one key', async () => {
  const fresh = await startBackend()
  const other = await startBackend({ beside: fresh })
  const admins = await Promise.all([fresh.signIn(), other.signIn()])
  const [one, two] = await Promise.all(
    admins.map((a, i) => a.call(joinTokenCreate, { body: { name: `at-once-${i}` } })),
  )
  expect((await other.domains.joining.tokenFor(other.platform.db, one!.answer!.id))!.text).toBe(
    one!.answer!.token,
  )
  expect((await fresh.domains.joining.tokenFor(fresh.platform.db, two!.answer!.id))!.text).toBe(
    two!.answer!.token,
  )
  expect(await fresh.platform.db.selectFrom('join_key').select('id').execute()).toHaveLength(1)
})

test('names are unique among tokens that are not revoked, even for ten concurrent creations', async () => {
  const results = await Promise.all(Array.from({ length: 10 }, () => create('race')))
  expect(results.filter((r) => r.status === 201)).toHaveLength(1)
  expect(results.find((r) => r.status !== 201)).toMatchObject({
    status: 409,
    problem: {
      code: 'name_taken',
      fields: { name: 'Join token name already exists. Please choose a different name.' },
    },
  })
  const { id } = results.find((r) => r.status === 201)!.answer!
  expect((await operator.call(joinTokenRevoke, { params: { id } })).status).toBe(204)
  expect((await create('race')).status).toBe(201)
})

test.each([
  ['a name with a space', { name: 'a b' }, 'name'],
  ['a lifetime of 0 hours', { name: 'x', lifetime_hours: 0 }, 'lifetime_hours'],
  ['a lifetime past a year', { name: 'x', lifetime_hours: 8761 }, 'lifetime_hours'],
  ['a lifetime of half an hour', { name: 'x', lifetime_hours: 0.5 }, 'lifetime_hours'],
  ['no uses', { name: 'x', max_uses: 0 }, 'max_uses'],
  ['too many uses', { name: 'x', max_uses: 100_001 }, 'max_uses'],
])('a token with %s is refused', async (_what, body, field) => {
  const { status, problem } = await operator.call(joinTokenCreate, { body })
  expect(status).toBe(422)
  expect(Object.keys(problem!.fields!)).toEqual([field])
})

test('the status shows why a token has ended, and the list can be filtered and sorted by status', async () => {
  const own = await startBackend()
  const admin = await own.signIn()
  const add = async (name: string, more: object = {}) =>
    (await admin.call(joinTokenCreate, { body: { name, ...more } })).answer!
  await add('forever', { lifetime_hours: null })
  await add('short', { lifetime_hours: 1 })
  const spent = await add('spent', { max_uses: 1 })
  await own.platform.db
    .updateTable('join_token')
    .set({ uses: 1 })
    .where('id', '=', spent.id)
    .execute()
  const gone = await add('gone')
  await admin.call(joinTokenRevoke, { params: { id: gone.id } })
  own.clock.advance(hour)
  const later = await own.signIn()
  const names = async (query: object) =>
    (await later.call(joinTokenList, { query })).answer!.items.map((t) => `${t.name} ${t.status}`)
  expect(await names({ sort: 'name' })).toEqual([
    'forever usable',
    'gone revoked',
    'short expired',
    'spent used_up',
  ])
  expect(await names({ status: 'expired' })).toEqual(['short expired'])
  expect(await names({ q: 'FOR' })).toEqual(['forever usable'])
  expect((await names({ sort: 'expires_at' }))[0]).toBe('short expired')
  expect((await names({ sort: '-expires_at' }))[0]).toBe('forever usable')
  expect(await names({ sort: '-uses', per_page: 1 })).toEqual(['spent used_up'])
})

test('a token can be revoked only once, and not by a viewer or with a stale If-Match', async () => {
  const { id, version } = await made('to-revoke')
  const params = { id }
  expect((await viewer.call(joinTokenRevoke, { params })).problem).toMatchObject({
    code: 'forbidden',
  })
  expect((await viewer.call(joinTokenCreate, { body: { name: 'mine' } })).problem).toMatchObject({
    code: 'forbidden',
  })
  expect(
    (await operator.call(joinTokenRevoke, { params }, { ifMatch: version + 1 })).problem,
  ).toMatchObject({ code: 'stale' })
  expect((await operator.call(joinTokenRevoke, { params }, { ifMatch: version })).status).toBe(204)
  expect(await operator.call(joinTokenRevoke, { params })).toMatchObject({
    status: 409,
    problem: { error: 'The join token was revoked already' },
  })
  expect((await operator.call(joinTokenGet, { params })).answer).toMatchObject({
    status: 'revoked',
    revoked_at: new Date(backend.clock.now()).toISOString(),
  })
  for (const operation of [joinTokenGet, joinTokenRevoke, joinTokenArrivals])
    expect(
      (await operator.call(operation, { params: { id: randomUUID() } })).problem,
    ).toMatchObject({ code: 'not_found' })
})

test("a datacenter with a usable join token can't be removed; a revoked token does not prevent the removal", async () => {
  const { answer: datacenter } = await operator.call(datacenterCreate, {
    body: { country_code: 'PL', city_code: 'POZ', city_name: 'Poznań' },
  })
  const { id, datacenter: of } = await made('in-poznan', { datacenter_id: datacenter!.id })
  expect(of).toEqual({ id: datacenter!.id, code: 'PL-POZ-1' })
  expect((await create('nowhere', { datacenter_id: randomUUID() })).problem).toMatchObject({
    code: 'not_found',
    fields: { datacenter_id: 'There is no such datacenter' },
  })
  const remove = () => operator.call(datacenterRemove, { params: { id: datacenter!.id } })
  expect((await remove()).problem).toMatchObject({
    code: 'datacenter_in_use',
    error: '1 join token puts servers in this datacenter. Revoke it first',
  })
  await operator.call(joinTokenRevoke, { params: { id } })
  expect((await remove()).status).toBe(204)
  expect((await operator.call(joinTokenGet, { params: { id } })).answer!.datacenter).toBeNull()
})

test('the audit log records creation and revocation of a token, but not the token text', async () => {
  const { id, token } = await made('audited')
  await operator.call(joinTokenRevoke, { params: { id } })
  await backend.publish()
  const admin = await backend.signIn()
  const { answer, text } = await admin.call(auditList, { query: { target: id } })
  expect(answer!.items.map((e) => e.action)).toEqual(['join_token.revoked', 'join_token.created'])
  expect(text).not.toContain(token)
})

test('refused arrivals are removed after one month, and all arrivals of ended tokens after three months, then revoked tokens that no image has', async () => {
  const own = await startBackend()
  const admin = await own.signIn()
  const day = 24 * hour
  const at = (days: number) => new Date(own.clock.now() - days * day)
  const make = async (name: string, over: number | null) => {
    const { answer } = await admin.call(joinTokenCreate, { body: { name, lifetime_hours: null } })
    await own.platform.db
      .updateTable('join_token')
      .set({ revoked_at: over === null ? null : at(over) })
      .where('id', '=', answer!.id)
      .execute()
    return answer!.id
  }
  const tokens = {
    good: await make('good', null),
    lately: await make('lately', 10),
    long: await make('long', 91),
    unused: await make('unused', 91),
    imaged: await make('imaged', 91),
  }
  await own.platform.db
    .insertInto('image')
    .values({
      talos_version: 'v1.13.0',
      arch: 'amd64',
      secureboot: false,
      extensions: [],
      kernel_args: [],
      format: 'iso',
      token_id: tokens.imaged,
      public_url: '',
      factory_url: '',
      schematic_id: '',
      created_at: at(91),
      updated_at: at(91),
    })
    .execute()
  const arrive = (token: keyof typeof tokens, result: 'joined' | 'refused', days: number) =>
    own.platform.db
      .insertInto('join_arrival')
      .values({
        token_id: tokens[token],
        uuid: `${token} ${result} ${days}`,
        serial: '',
        mac: null,
        address: '10.0.0.1',
        host_name: null,
        at: at(days),
        result,
        reason: null,
        server_id: null,
        shard: 0,
      })
      .execute()
  for (const token of ['good', 'lately', 'long'] as const)
    for (const [result, days] of [
      ['joined', 200],
      ['joined', 95],
      ['refused', 40],
      ['refused', 5],
    ] as const)
      await arrive(token, result, days)
  await own.domains.all.find((d) => d.name === 'joining')!.removeOld!()
  const left = (await own.platform.db.selectFrom('join_arrival').select('uuid').execute()).map(
    (a) => a.uuid,
  )
  expect(left.toSorted()).toEqual(
    [
      'good joined 200',
      'good joined 95',
      'good refused 5',
      'lately joined 200',
      'lately joined 95',
      'lately refused 5',
      'long refused 5',
    ].toSorted(),
  )
  const kept = await own.platform.db.selectFrom('join_token').select('name').execute()
  expect(kept.map(({ name }) => name).toSorted()).toEqual(['good', 'imaged', 'lately', 'long'])
})
