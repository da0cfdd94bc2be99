import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { ccCounts, ccList } from '#contract/marketplace/ccs.ts'
import type { Asked } from '#contract/operation.ts'
import { longTest } from '../../../../tools/testing/long-test.ts'
import { startBackend } from '../../testing/backend.ts'
import { leastShare } from '../../testing/shares.ts'
import { buildCluster, buildServer } from '../servers/testing.ts'
import { addCc, addOffer, hardware, inDays, measuredServer, price } from './testing.ts'

const backend = await startBackend()
const { db } = backend.platform
const operator = await backend.signIn({ role: 'operator' })
const names = async (query: Partial<Asked<typeof ccList>['query']>) =>
  (await operator.call(ccList, { query })).answer!.items.map((c) => c.server.name)
const counts = async (query: Partial<Asked<typeof ccCounts>['query']> = {}) =>
  (await operator.call(ccCounts, { query })).answer!

const offer_id = `0x9f2c${'0'.repeat(60)}`
await addOffer(backend, offer_id)
const clusterId = randomUUID()
await buildCluster(backend, clusterId, 'poz-render-01')
const { datacenter_id } = await db
  .selectFrom('cluster')
  .select('datacenter_id')
  .where('id', '=', clusterId)
  .executeTakeFirstOrThrow()
const small = await measuredServer(backend, 'amber-falcon', {
  hardware: hardware(16),
  datacenter_id,
})
const large = await measuredServer(backend, 'brisk-heron', {
  cluster_id: clusterId,
  cluster_name: 'poz-render-01',
  datacenter_id,
})
const unknown = await buildServer(backend, { name: 'calm-otter' })
// 4 CU for 0.5 EUR each; 16 CU for 1.248 EUR together; unknown CU for 0.5 EUR each.
await addCc(operator, small, { price: { amount: '0.5', currency: 'EUR', basis: 'compute_unit' } })
const committed = await addCc(operator, large, {
  price,
  offer_id,
  expires_at: inDays(backend, 5),
  status: 'waiting_delegation',
})
// Newer than the others.
backend.clock.advance(1000)
await addCc(operator, unknown, {
  price: { amount: '0.5', currency: 'USDC', basis: 'compute_unit' },
})

test('the filters narrow by status, datacenter, cluster, server and currency', async () => {
  expect(await names({})).toEqual(['amber-falcon', 'brisk-heron', 'calm-otter'])
  expect(await names({ status: 'waiting_delegation' })).toEqual(['brisk-heron'])
  const { code } = await db
    .selectFrom('datacenter')
    .select('code')
    .where('id', '=', datacenter_id!)
    .executeTakeFirstOrThrow()
  for (const datacenter of [code, datacenter_id!])
    expect(await names({ datacenter })).toEqual(['amber-falcon', 'brisk-heron'])
  for (const cluster of ['poz-render-01', clusterId])
    expect(await names({ cluster })).toEqual(['brisk-heron'])
  for (const server of ['amber-falcon', small])
    expect(await names({ server })).toEqual(['amber-falcon'])
  expect(await names({ currency: 'USDC' })).toEqual(['calm-otter'])
})

test.each([
  ['4..16', ['amber-falcon', 'brisk-heron']],
  ['5..', ['brisk-heron']],
  ['..15.9', ['amber-falcon']],
  ['16', ['brisk-heron']],
  ['15.1..15.9', []],
  ['0..', ['amber-falcon', 'brisk-heron']],
])('%s CU: a server with an unknown number is in no range', async (cu, found) => {
  expect(await names({ cu })).toEqual(found)
})

test.each([
  ['1.248..2', ['amber-falcon', 'brisk-heron']],
  ['2', ['amber-falcon']],
  ['..1.2480', ['brisk-heron']],
  ['1.24800001..', ['amber-falcon']],
])(
  'a price of %s per hour is compared with the exact price of the whole server',
  async (range, found) => {
    expect(await names({ price: range })).toEqual(found)
  },
)

test.each(['64..32', '1e400..', '-1..', '..', 'many', '1..2..3'])(
  'the range %s is refused with a sentence',
  async (range) => {
    for (const query of [{ cu: range }, { price: range }]) {
      const { status, problem } = await operator.call(ccList, { query })
      expect(status).toBe(400)
      expect(problem!.error).toContain('A range is two numbers such as 32..64')
    }
  },
)

test('the search finds servers, clusters, offers and ids, as literal text', async () => {
  expect(await names({ q: 'HERON' })).toEqual(['brisk-heron'])
  expect(await names({ q: 'render' })).toEqual(['brisk-heron'])
  expect(await names({ q: '0x9f2c' })).toEqual(['brisk-heron'])
  expect(await names({ q: committed.id })).toEqual(['brisk-heron'])
  expect(await names({ q: unknown })).toEqual(['calm-otter'])
  for (const q of ['%', '_', "' or 1=1 --", '\\']) expect(await names({ q })).toEqual([])
})

test('unknown values come last in both directions', async () => {
  expect(await names({ sort: 'compute_units' })).toEqual([
    'amber-falcon',
    'brisk-heron',
    'calm-otter',
  ])
  expect(await names({ sort: '-compute_units' })).toEqual([
    'brisk-heron',
    'amber-falcon',
    'calm-otter',
  ])
  expect(await names({ sort: '-price' })).toEqual(['amber-falcon', 'brisk-heron', 'calm-otter'])
  expect(await names({ sort: '-status' })).toEqual(['brisk-heron', 'calm-otter', 'amber-falcon'])
})

test('the counts have every status, and follow the search and the filters', async () => {
  const none = {
    not_committed: 0,
    waiting_delegation: 0,
    waiting_start: 0,
    active: 0,
    completed: 0,
    failed: 0,
    removed: 0,
  }
  expect(await counts()).toEqual({
    total: 3,
    by_status: { ...none, not_committed: 2, waiting_delegation: 1 },
  })
  expect(await counts({ cu: '5..' })).toEqual({
    total: 1,
    by_status: { ...none, waiting_delegation: 1 },
  })
  expect(await counts({ q: 'otter' })).toEqual({
    total: 1,
    by_status: { ...none, not_committed: 1 },
  })
  expect((await operator.call(ccCounts, { query: { status: 'active' } as never })).status).toBe(400)
})

/**
 * 50,000 commitments of 10,000 servers in ten datacenters and a hundred clusters, with hardware of
 * a usual size.
 */
async function fill(): Promise<void> {
  await sql`insert into datacenter (country_code, city_code, city_name, index, certifications, created_at, updated_at)
    select 'DE', 'MNY', 'Many', i, '{}', now(), now() from generate_series(1, 10) i`.execute(db)
  await sql`insert into cluster (id, name, datacenter_id, talos_version, contract, kubernetes_version, endpoint, virtual_ip, pod_cidr, service_cidr, chain_address,
      created_at, updated_at)
    select gen_random_uuid(), 'cluster-' || i, (select id from datacenter where city_code = 'MNY' and index = i % 10 + 1), 'v1.13.9', '1.13', '1.36.3',
      'https://10.0.0.1:6443', false, '10.244.0.0/16', '10.96.0.0/12', '0x', now(), now()
    from generate_series(0, 99) i`.execute(db)
  await sql`insert into server (name, address, identity_state, identity_since, created_at, updated_at, datacenter_id, cluster_id, cluster_name, hardware)
    select 'many-' || lpad(i::text, 5, '0'), '10.1.0.1', 'confirmed', now(), now(), now(),
      (select id from datacenter where city_code = 'MNY' and index = i % 10 + 1),
      c.id, c.name,
      jsonb_build_object('processors', '[]'::jsonb, 'filler', (select string_agg(md5(i::text || j::text), '') from generate_series(1, 90) j))
    from generate_series(1, 10000) i join cluster c on c.name = 'cluster-' || i % 100`.execute(db)
  await sql`insert into offer (id, resources, node_ids, computed_at, created_at, updated_at)
    select '0x' || md5(i::text) || md5('offer' || i), '{}', '{}', now(), now(), now() from generate_series(1, 1000) i`.execute(
    db,
  )
  await sql`insert into capacity_commitment (server_id, status, offer_id, cores, memory_bytes, disk_bytes, compute_units, price, currency, basis,
      starts_at, expires_at, committed_at, delegated_at, created_at, updated_at, updated_by)
    select s.id, case when k = 1 then 'active' when k = 2 then 'failed' when k = 3 then 'removed' else 'completed' end,
      '0x' || md5((n % 1000 + 1)::text) || md5('offer' || n % 1000 + 1), n % 128, 4294967296 * (n % 128), 1000000000000, n % 128, round(n % 1000 / 100.0, 2), 'EUR',
      case when n % 2 = 0 then 'server' else 'compute_unit' end,
      now(), now() + (n % 1000 + 1) * interval '1 day', now(), now(), now() - k * interval '1 day', now(), 'test'
    from (select id, row_number() over (order by name) as n from server where name like 'many-%') s, generate_series(1, 5) k`.execute(
    db,
  )
  await sql`analyze`.execute(db)
}

longTest(
  'with 50,000 commitments, the list, each filter, the search and the counts take at most ten times as long as a small query',
  async () => {
    await fill()
    const most = 10
    const shareOf = (url: string) =>
      leastShare(backend.platform.db, most, async () => {
        const headers = { authorization: `Bearer ${operator.accessToken}` }
        expect((await backend.app.inject({ url, headers })).statusCode).toBe(200)
      })
    const narrowings = [
      '',
      'status=active',
      'datacenter=DE-MNY-3',
      'cluster=cluster-42',
      'cu=32..64',
      'price=1.25..2.5',
      'currency=EUR',
      'server=many-00042',
      'q=many-00042',
      'q=cluster-4',
      'q=0x9f2c',
      'cu=32..64&price=..2&status=active&datacenter=DE-MNY-3&q=many',
    ]
    const urls = [
      ...narrowings.flatMap((narrowing) => [
        `/v1/ccs?${narrowing}`,
        `/v1/ccs/counts?${narrowing.replace(/&?status=\w+/, '')}`,
      ]),
      '/v1/ccs?page=1000',
      ...['price', '-expires_at', 'cluster', 'status', '-compute_units'].map(
        (sort) => `/v1/ccs?sort=${sort}`,
      ),
    ]
    const slow: string[] = []
    for (const url of urls) {
      const share = await shareOf(url)
      if (share >= most) slow.push(`${url}: ${share.toFixed(1)} times`)
    }
    expect(slow).toEqual([])
    expect((await counts()).total).toBe(50_003)
  },
)
