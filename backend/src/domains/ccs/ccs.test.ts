import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { auditList } from '#contract/audit.ts'
import {
  type CapacityCommitment,
  type CcChange,
  ccCreate,
  ccEvents,
  ccGet,
  ccStatuses,
  ccUpdate,
} from '#contract/marketplace/ccs.ts'
import { serverGet, serverList, serverUpdate } from '#contract/servers/servers.ts'
import { startBackend } from '../../testing/backend.ts'
import { buildCluster, buildServer } from '../servers/testing.ts'
import { addCc, addOffer, hardware, inDays, measuredServer, price } from './testing.ts'

const backend = await startBackend()
const { db } = backend.platform
const operator = await backend.signIn({ role: 'operator' })
const days = (n: number) => inDays(backend, n)
const change = (cc: { id: string }, body: CcChange, version?: number) =>
  operator.call(
    ccUpdate,
    { params: { id: cc.id }, body },
    version === undefined ? {} : { ifMatch: version },
  )
const get = async (cc: { id: string }) =>
  (await operator.call(ccGet, { params: { id: cc.id } })).answer!
let made = 0
const newServer = () => measuredServer(backend, `promised-${++made}`)
/** A commitment with this status, made by the allowed changes. */
async function withStatus(status: CapacityCommitment['status']): Promise<CapacityCommitment> {
  const cc = await addCc(operator, await newServer(), {
    price,
    starts_at: days(1),
    expires_at: days(30),
  })
  const ways = {
    not_committed: [],
    waiting_delegation: ['waiting_delegation'],
    waiting_start: ['waiting_delegation', 'waiting_start'],
    active: ['waiting_delegation', 'waiting_start', 'active'],
    completed: ['waiting_delegation', 'waiting_start', 'active', 'completed'],
    failed: ['waiting_delegation', 'waiting_start', 'active', 'failed'],
    removed: ['waiting_delegation', 'removed'],
  } as const
  let now = cc
  for (const next of ways[status]) now = (await change(cc, { status: next })).answer!
  expect(now.status).toBe(status)
  return now
}

test('a commitment is a draft with the capacity of its server; price and times may be unknown', async () => {
  const id = await newServer()
  const cc = await addCc(operator, id)
  expect(cc).toMatchObject({
    status: 'not_committed',
    server: { id, status: 'maintenance', unreachable_since: null },
    capacity: {
      compute_units: 16,
      cores: 16,
      vcpu: 32,
      memory_bytes: 64 * 1024 ** 3,
      disk_bytes: 1_000_000_000_000,
    },
    price: null,
    price_per_hour: null,
    offer: null,
    starts_at: null,
    expires_at: null,
    committed_at: null,
    version: 1,
  })
  expect(await get(cc)).toEqual(cc)
})

test('the capacity of a server with unknown hardware is unknown, not 0', async () => {
  const cc = await addCc(operator, await buildServer(backend, { name: 'unread' }), {
    price: { ...price, basis: 'compute_unit' },
  })
  expect(cc.capacity).toEqual({
    compute_units: null,
    cores: null,
    vcpu: null,
    memory_bytes: null,
    disk_bytes: null,
  })
  expect(cc.price_per_hour).toBeNull()
})

test('the price of a server is exact: 3 times 0.1 is 0.3', async () => {
  const id = await measuredServer(backend, 'three-units', { hardware: hardware(12) })
  const cc = await addCc(operator, id, {
    price: { amount: '0.10', currency: 'EUR', basis: 'compute_unit' },
  })
  expect(cc).toMatchObject({
    capacity: { compute_units: 3 },
    price: { amount: '0.1' },
    price_per_hour: '0.3',
  })
})

test.each(['1e400', '-1', '0.1+0.2', '0.1 + 0.2', 'NaN', '1,5'])(
  'a price of %s is refused, and nothing is added',
  async (amount) => {
    const node_id = await newServer()
    const refused = await operator.call(ccCreate, {
      body: { node_id, price: { ...price, amount } },
    })
    expect(refused).toMatchObject({
      status: 422,
      problem: {
        code: 'invalid',
        fields: { 'price.amount': expect.stringContaining('decimal number') as string },
      },
    })
    expect(
      await db
        .selectFrom('capacity_commitment')
        .select('id')
        .where('server_id', '=', node_id)
        .execute(),
    ).toEqual([])
  },
)

test.each(['1e400', '0.30000000000000004', '-0'])(
  'a price that is the JSON number %s is refused',
  async (amount) => {
    const response = await backend.app.inject({
      method: 'POST',
      url: '/v1/ccs',
      headers: {
        authorization: `Bearer ${operator.accessToken}`,
        'content-type': 'application/json',
      },
      payload: `{"node_id":"${await newServer()}","price":{"amount":${amount},"currency":"EUR","basis":"server"}}`,
    })
    expect(response.statusCode).toBe(422)
    expect(response.json()).toMatchObject({
      fields: { 'price.amount': expect.stringContaining('as text in quotes') as string },
    })
  },
)

test('a commitment goes through its life, and records who did what', async () => {
  const offer_id = `0x${'ab'.repeat(32)}`
  await addOffer(backend, offer_id)
  const cc = await addCc(operator, await newServer(), { expires_at: days(30), offer_id })
  expect(cc.offer).toEqual({ id: offer_id, status: 'draft', access_address: null, in_use: false })
  expect((await change(cc, { price, status: 'waiting_delegation' })).answer).toMatchObject({
    status: 'waiting_delegation',
    committed_at: days(0),
    committed_by: operator.email,
    starts_at: null,
  })
  // Without an agreed start, the commitment starts when the delegation is confirmed.
  expect((await change(cc, { status: 'waiting_start' })).answer).toMatchObject({
    delegated_at: days(0),
    delegated_by: operator.email,
    starts_at: days(0),
  })
  await backend.engine.settle()
  expect(await get(cc)).toMatchObject({ status: 'active', started_at: days(0), ended_at: null })
  expect((await change(cc, { status: 'failed', reason: 'Power was lost' })).answer).toMatchObject({
    status: 'failed',
    reason: 'Power was lost',
    ended_at: days(0),
  })
  expect((await change(cc, { status: 'removed' })).answer).toMatchObject({
    status: 'removed',
    reason: 'Power was lost',
  })
  await backend.publish()
  const { items } = (await operator.call(ccEvents, { params: { id: cc.id } })).answer!
  expect(items.map((e) => [e.message, e.by])).toEqual([
    ['Removed: Power was lost', operator.email],
    ['Failed: Power was lost', operator.email],
    ['Started', 'Steelyard'],
    ['The delegation was confirmed', operator.email],
    ['The capacity was committed: 1.248 EUR per server and hour', operator.email],
    ['Its terms were changed', operator.email],
    [`Created for ${cc.server.name}`, operator.email],
  ])
})

test('every change of the status that is not specified is refused and changes nothing', async () => {
  for (const from of ccStatuses) {
    const cc = await withStatus(from)
    for (const to of ccStatuses) {
      const allowed =
        {
          not_committed: ['waiting_delegation'],
          waiting_delegation: ['waiting_start', 'removed'],
          waiting_start: ['active'],
          active: ['completed', 'failed'],
        }[from as string] ?? (from === 'removed' ? [] : ['removed'])
      if (from === to || allowed.includes(to)) continue
      const { status, problem } = await change(cc, { status: to })
      expect({ from, to, status, code: problem?.code }).toEqual({
        from,
        to,
        status: 409,
        code: 'transition_refused',
      })
    }
    expect(await get(cc)).toEqual(cc)
  }
})

test('setting the present status again changes nothing', async () => {
  const cc = await withStatus('active')
  expect((await change(cc, { status: 'active' })).answer).toEqual(cc)
})

test('a draft without price or end, or with an end in the past, cannot be committed', async () => {
  const cc = await addCc(operator, await newServer())
  const refused = await change(cc, { status: 'waiting_delegation' })
  expect(refused).toMatchObject({ status: 422, problem: { code: 'invalid' } })
  expect(Object.keys(refused.problem!.fields!)).toEqual(['price', 'expires_at'])
  expect(
    (await change(cc, { price, expires_at: days(-1), status: 'waiting_delegation' })).problem,
  ).toMatchObject({
    fields: { expires_at: 'The end is in the past' },
  })
  // The refused call has changed no terms either.
  expect(await get(cc)).toEqual(cc)
})

test('the terms are fixed once the capacity is committed', async () => {
  const cc = await withStatus('waiting_delegation')
  for (const body of [
    { price: { ...price, amount: '2' } },
    { expires_at: days(60) },
    { starts_at: null },
    { offer_id: `0x${'0'.repeat(64)}` },
  ])
    expect((await change(cc, body)).problem).toMatchObject({
      code: 'conflict',
      error: 'The terms are fixed, because the capacity is committed',
    })
  // The same terms are no change.
  expect(
    (await change(cc, { price: { ...price, amount: '1.2480' }, expires_at: cc.expires_at })).answer,
  ).toEqual(cc)
})

test('a draft can lose its terms, and wrong times are refused', async () => {
  const cc = await addCc(operator, await newServer(), {
    price,
    starts_at: days(1),
    expires_at: days(2),
  })
  expect((await change(cc, { expires_at: days(1) })).problem).toMatchObject({
    fields: { expires_at: 'The end must be after the start' },
  })
  expect((await change(cc, { starts_at: days(3) })).problem).toMatchObject({
    fields: { expires_at: 'The end must be after the start' },
  })
  expect(
    (await change(cc, { price: null, starts_at: null, expires_at: null })).answer,
  ).toMatchObject({
    price: null,
    starts_at: null,
    expires_at: null,
    version: 2,
  })
})

test('a reason is accepted only where something failed or is removed', async () => {
  const cc = await withStatus('active')
  expect((await change(cc, { reason: 'because' })).problem).toMatchObject({
    code: 'invalid',
    fields: { reason: expect.any(String) as string },
  })
  expect((await change(cc, { status: 'completed', reason: 'because' })).status).toBe(422)
  expect(await get(cc)).toEqual(cc)
})

test('a server has one open commitment, even if two are added at once, and another one after it has ended', async () => {
  const id = await newServer()
  const both = await Promise.all([
    operator.call(ccCreate, { body: { node_id: id } }),
    operator.call(ccCreate, { body: { node_id: id } }),
  ])
  expect(both.map((b) => b.status)).toEqual(expect.arrayContaining([201, 409]))
  const refused = both.find((b) => b.status === 409)!.problem!
  expect(refused).toMatchObject({ code: 'conflict', related: { kind: 'server', id } })
  expect(refused.error).toMatch(
    /^promised-\d+ already has a commitment that has not ended \(not committed\)/,
  )
  const cc = both.find((b) => b.answer)!.answer!
  await change(cc, { price, expires_at: days(9), status: 'waiting_delegation' })
  await change(cc, { status: 'removed' })
  expect((await operator.call(ccCreate, { body: { node_id: id } })).status).toBe(201)
})

test('unknown servers, removed servers and unknown commitments are not found', async () => {
  const gone = await measuredServer(backend, 'gone', {
    status: 'deleted',
    removed_at: new Date(backend.clock.now()),
  })
  for (const node_id of [randomUUID(), gone])
    expect((await operator.call(ccCreate, { body: { node_id } })).problem).toMatchObject({
      code: 'not_found',
      fields: { node_id: 'There is no such server' },
    })
  expect((await change({ id: randomUUID() }, { price })).status).toBe(404)
  expect((await operator.call(ccGet, { params: { id: randomUUID() } })).status).toBe(404)
  expect((await operator.call(ccEvents, { params: { id: randomUUID() } })).status).toBe(404)
})

test('an offer that does not exist is refused at its field, and nothing is added', async () => {
  const node_id = await newServer()
  const offer_id = `0x${'cd'.repeat(32)}`
  const refused = {
    status: 422,
    problem: { code: 'invalid', fields: { offer_id: 'There is no such offer' } },
  }
  expect(await operator.call(ccCreate, { body: { node_id, offer_id } })).toMatchObject(refused)
  const cc = await addCc(operator, node_id)
  expect(await change(cc, { offer_id })).toMatchObject(refused)
  expect(await get(cc)).toEqual(cc)
})

test('a change of an outdated version is refused', async () => {
  const cc = await addCc(operator, await newServer())
  await change(cc, { price })
  expect(
    (await change(cc, { price: { ...price, amount: '2' } }, cc.version)).problem,
  ).toMatchObject({ code: 'stale' })
  expect(
    (await change(cc, { price: { ...price, amount: '2' } }, cc.version + 1)).answer,
  ).toMatchObject({ price: { amount: '2' } })
})

test('lists show the commitment of a server, with the status that it has now', async () => {
  const id = await newServer()
  const listed = async () =>
    (await operator.call(serverList, { query: { q: id } })).answer!.items[0]!
  const etag = async () => (await operator.call(serverGet, { params: { id } })).headers.etag
  expect((await listed()).capacity_commitment).toBeNull()
  const before = await etag()
  const cc = await addCc(operator, id, { price, expires_at: days(9) })
  expect((await listed()).capacity_commitment).toEqual({ id: cc.id, status: 'not_committed' })
  // The representation has changed, so its tag has too.
  expect(await etag()).not.toBe(before)
  for (const status of ['waiting_delegation', 'waiting_start'] as const) {
    await change(cc, { status })
    expect((await listed()).capacity_commitment).toEqual({ id: cc.id, status })
    expect(
      (await operator.call(serverGet, { params: { id } })).answer!.capacity_commitment,
    ).toEqual({ id: cc.id, status })
  }
  await backend.engine.settle()
  expect((await listed()).capacity_commitment!.status).toBe('active')
  await change(cc, { status: 'completed' })
  expect((await listed()).capacity_commitment!.status).toBe('completed')
  // A removed commitment is not shown; an earlier one is, if there is one.
  await change(cc, { status: 'removed' })
  expect((await listed()).capacity_commitment).toBeNull()
})

test('servers are filtered and sorted by their commitment', async () => {
  const cc = await withStatus('waiting_start')
  const names = async (query: object) =>
    (await operator.call(serverList, { query })).answer!.items.map((s) => s.name)
  expect(await names({ cc: 'waiting_start' })).toContain(cc.server.name)
  expect(await names({ cc: 'none' })).not.toContain(cc.server.name)
  expect((await operator.call(serverList, { query: { cc: 'sold' as never } })).status).toBe(400)
  const statuses = (await operator.call(serverList, { query: { sort: 'cc' } })).answer!.items.map(
    (s) => s.capacity_commitment?.status ?? '~',
  )
  expect(statuses).toEqual(statuses.toSorted())
})

test('a commitment shows the present name, cluster and reachability of its server', async () => {
  const clusterId = randomUUID()
  await buildCluster(backend, clusterId, 'render')
  const id = await newServer()
  const cc = await addCc(operator, id)
  await operator.call(serverUpdate, { params: { id }, body: { name: 'other-name' } })
  await db
    .updateTable('server')
    .set({
      cluster_id: clusterId,
      cluster_name: 'render',
      reachable: false,
      unreachable_since: new Date(backend.clock.now()),
    })
    .where('id', '=', id)
    .execute()
  expect(await get(cc)).toMatchObject({
    server: { name: 'other-name', unreachable_since: days(0) },
    cluster: { id: clusterId, name: 'render' },
  })
})

test('a viewer reads commitments and may change none', async () => {
  const cc = await addCc(operator, await newServer())
  const viewer = await backend.signIn({ role: 'viewer' })
  expect((await viewer.call(ccGet, { params: { id: cc.id } })).status).toBe(200)
  expect(
    (await viewer.call(ccUpdate, { params: { id: cc.id }, body: { price } })).problem,
  ).toMatchObject({
    code: 'forbidden',
    error: 'Your role does not include marketplace:write',
  })
})

test('a repeated request with the same key adds one commitment', async () => {
  const body = { node_id: await newServer() }
  const twice = [
    await operator.call(ccCreate, { body }, { idempotencyKey: 'k' }),
    await operator.call(ccCreate, { body }, { idempotencyKey: 'k' }),
  ]
  expect(twice.map((t) => t.status)).toEqual([201, 201])
  expect(twice[0]!.answer!.id).toBe(twice[1]!.answer!.id)
})

test('the audit log has the terms of a commitment', async () => {
  const cc = await addCc(operator, await newServer(), {
    price,
    expires_at: days(3),
    status: 'waiting_delegation',
  })
  await backend.publish()
  const admin = await backend.signIn()
  const { items } = (await admin.call(auditList, { query: { target: cc.id } })).answer!
  expect(items.map((e) => e.action)).toEqual(['cc.committed', 'cc.created'])
  expect(items[0]).toMatchObject({
    target: { kind: 'cc', name: cc.server.name },
    after: { price: '1.248 EUR per server and hour', expires_at: days(3) },
  })
})
