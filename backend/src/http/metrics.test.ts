import { readFileSync } from 'node:fs'
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { auditNdjson } from '#contract/audit.ts'
import { gauges, requestDuration } from '#contract/metrics/metrics.ts'
import { serverGet, serverList, serverLogs } from '#contract/servers/servers.ts'
import { buildCluster, buildServer } from '../domains/servers/testing.ts'
import { startBackend } from '../testing/backend.ts'

const backend = await startBackend()
const viewer = await backend.signIn({ role: 'viewer', lasts: true })
const { db } = backend.platform

const read = async () => (await backend.app.inject({ url: '/metrics' })).body
/** Value of a series; undefined if it isn't shown. Labels in any order. */
function valueOf(text: string, name: string, labels: Readonly<Record<string, string>> = {}) {
  const lines = text
    .split('\n')
    .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
  const found = lines.filter((line) =>
    Object.entries(labels).every(([label, value]) => line.includes(`${label}="${value}"`)),
  )
  return found.length === 1 ? Number(found[0]!.split(' ').at(-1)) : undefined
}

test('servers, clusters, findings, certificates and snapshots are counted', async () => {
  const id = randomUUID()
  const now = new Date(backend.clock.now())
  await buildCluster(backend, id, 'shop')
  const ends_at = new Date(now.getTime() + 86_400_000).toISOString()
  await db
    .updateTable('cluster')
    .set({
      status: 'ready',
      certificates_ending: JSON.stringify([
        { kind: 'etcd_ca', name: null, ends_at, reason: 'Replace it' },
      ]),
    })
    .execute()
  const { datacenter_id } = await db
    .selectFrom('cluster')
    .select('datacenter_id')
    .executeTakeFirstOrThrow()
  const silent = { reachable: false, unreachable_since: now, reason: 'connection refused' }
  await buildServer(backend, { name: 'a', datacenter_id, reachable: true })
  await buildServer(backend, { name: 'b', datacenter_id, ...silent })
  await buildServer(backend, {
    name: 'c',
    datacenter_id,
    cluster_id: id,
    cluster_name: 'shop',
    status: 'ready',
    ...silent,
  })
  const store = await db
    .insertInto('store')
    .values({ name: 's', kind: 'folder', folder: '/x', created_at: now, updated_at: now })
    .returning('id')
    .executeTakeFirstOrThrow()
  await db
    .insertInto('snapshot')
    .values({
      cluster_id: id,
      cluster_name: 'shop',
      store_id: store.id,
      object_key: 'x',
      made_by: 'request',
      status: 'ready',
      taken_at: now,
      verified_at: now,
      sha256: '0'.repeat(64),
      size_bytes: 1,
      stored_bytes: 1,
      created_at: now,
      updated_at: now,
    })
    .execute()
  await backend.domains.findings.judge()

  const text = await read()
  const datacenter = 'PL-TST-1'
  const servers = (of: object) => valueOf(text, 'steelyard_servers', { datacenter, ...of })
  expect(servers({ status: 'maintenance', contact: 'answers' })).toBe(1)
  expect(servers({ status: 'maintenance', contact: 'unreachable' })).toBe(1)
  expect(servers({ status: 'ready', contact: 'unreachable' })).toBe(1)
  expect(valueOf(text, 'steelyard_clusters', { status: 'ready' })).toBe(1)
  expect(valueOf(text, 'steelyard_cluster_info', { cluster: 'shop', datacenter })).toBe(1)
  const unreachable = { object: 'server', kind: 'server_unreachable', severity: 'down' }
  expect(valueOf(text, 'steelyard_findings', { ...unreachable, acknowledged: 'false' })).toBe(2)
  expect(valueOf(text, 'steelyard_cluster_findings', { cluster: 'shop', severity: 'down' })).toBe(1)
  expect(
    valueOf(text, 'steelyard_cluster_certificate_expiry_timestamp_seconds', { cluster: 'shop' }),
  ).toBe(Date.parse(ends_at) / 1000)
  expect(valueOf(text, 'steelyard_cluster_snapshot_timestamp_seconds', { cluster: 'shop' })).toBe(
    now.getTime() / 1000,
  )
})

test('requests are counted by the pattern of their route, without what users send', async () => {
  const id = randomUUID()
  await viewer.call(serverGet, { params: { id } })
  await viewer.call(serverList, { query: { page: 1, per_page: 10, q: 'needle' } })
  await backend.app.inject({ url: '/some/page' })
  const text = await read()
  const count = (labels: Readonly<Record<string, string>>) =>
    valueOf(text, `${requestDuration.name}_count`, labels)
  expect(count({ method: 'GET', route: '/v1/nodes/:id', status: '404' })).toBe(1)
  expect(count({ method: 'GET', route: '/v1/nodes', status: '200' })).toBe(1)
  expect(text).not.toContain(id)
  expect(text).not.toContain('needle')
  expect(text).not.toContain('/some/page')
})

test('streams of events and logs are not counted, because their readers decide how long they last', async () => {
  const admin = await backend.signIn({ role: 'admin' })
  await admin.call(auditNdjson, { query: {} })
  await viewer.call(serverLogs, { params: { id: randomUUID() } })
  const text = await read()
  expect(text).toContain('route="/v1/nodes"')
  for (const { path } of [auditNdjson, serverLogs])
    expect(text).not.toContain(`route="${path.replace('{id}', ':id')}"`)
})

test('the dashboard and the rules name only metrics that exist', () => {
  const known = new Set([
    ...Object.keys(gauges),
    ...['bucket', 'count', 'sum'].map((part) => `${requestDuration.name}_${part}`),
  ])
  const unknown = ['deploy/grafana/steelyard.json', 'deploy/prometheus/steelyard.rules.yml'].map(
    (file) => {
      const named = [...readFileSync(file, 'utf8').matchAll(/steelyard_\w+/g)].map(([name]) => name)
      return { namesMany: named.length > 10, unknown: named.filter((name) => !known.has(name)) }
    },
  )
  expect(unknown).toEqual([
    { namesMany: true, unknown: [] },
    { namesMany: true, unknown: [] },
  ])
})
