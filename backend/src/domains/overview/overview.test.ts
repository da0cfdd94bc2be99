import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { overviewGet } from '#contract/overview.ts'
import { serverList } from '#contract/servers/servers.ts'
import { inTransaction } from '../../db/db.ts'
import { system } from '../../http/caller.ts'
import { startBackend } from '../../testing/backend.ts'
import { buildCluster, buildServer } from '../servers/testing.ts'

const backend = await startBackend({
  prepare: ({ engine }) => engine.register({ queue: 'demo', reconcile: async () => undefined }),
})
const viewer = await backend.signIn({ role: 'viewer' })
const { db } = backend.platform
const overview = async () => {
  await backend.domains.findings.judge()
  return (await viewer.call(overviewGet)).answer!
}
const since = new Date('2026-11-20T12:00:00.000Z')

test('in a new installation the overview lists nothing that needs attention, and reports that no network can be dialled', async () => {
  expect(await overview()).toMatchObject({
    attention: { total: 0, items: [] },
    dials_nowhere: true,
  })
})

test('clusters and servers that need attention are listed with the reason, the most urgent first', async () => {
  const id = randomUUID()
  await buildCluster(backend, id, 'prod')
  await db
    .updateTable('cluster')
    .set({
      status: 'ready',
      reason: 'db-1 is not Ready: Kubelet stopped',
      problem: 'nodes',
      problem_since: since,
    })
    .where('id', '=', id)
    .execute()
  const inCluster = { cluster_id: id, cluster_name: 'prod', status: 'ready' as const }
  const silent = { reachable: false, unreachable_since: since, reason: 'connection refused' }
  const dead = {
    reachable: true,
    node_ready: false,
    node_reason: 'Kubelet stopped',
    node_since: since,
  }
  await buildServer(backend, { name: 'well', address: '10.0.0.1', reachable: true })
  await buildServer(backend, { name: 'free', address: '10.0.0.2', ...silent })
  await buildServer(backend, { name: 'db-1', address: '10.0.0.3', ...inCluster, ...dead })
  await buildServer(backend, { name: 'db-2', address: '10.0.0.4', ...inCluster, ...silent })
  await buildServer(backend, {
    name: 'db-3',
    address: '10.0.0.6',
    ...inCluster,
    reachable: true,
    drift_since: since,
    drift_seen: 'a',
  })
  await buildServer(backend, {
    name: 'db-4',
    address: '10.0.0.7',
    ...inCluster,
    reachable: true,
    pending: JSON.stringify({
      reason: 'db-1 is not well',
      since: since.toISOString(),
      waits_for: [],
    }),
  })
  await buildServer(backend, {
    name: 'db-5',
    address: '10.0.0.8',
    ...inCluster,
    reachable: true,
    trial_state: 'undone',
    trial_reason: 'Talos has undone it',
    trial_since: since,
  })
  await buildServer(backend, {
    name: 'gone',
    address: '10.0.0.5',
    ...silent,
    status: 'deleted',
    removed_at: since,
  })
  const { attention } = await overview()
  expect(attention.total).toBe(7)
  const at = since.toISOString()
  expect(
    attention.items.map(({ kind, object, since: from, reason }) => [
      kind,
      object.name,
      from,
      reason,
    ]),
  ).toEqual([
    ['server_unreachable', 'db-2', at, 'No answer since 12:00 UTC; connection refused.'],
    ['server_unreachable', 'free', at, 'No answer since 12:00 UTC; connection refused.'],
    ['cluster_nodes_not_ready', 'prod', at, 'db-1 is not Ready: Kubelet stopped.'],
    ['server_not_ready', 'db-1', at, 'Kubelet stopped.'],
    ['server_change_undone', 'db-5', at, 'Talos has undone it.'],
    ['server_patches_wait', 'db-4', at, 'db-1 is not well.'],
    ['server_drifted', 'db-3', at, 'Configuration was changed outside of Steelyard.'],
  ])
})

test('a server that is silent because of an operation counts as away, not as unreachable or in need of attention', async () => {
  const before = await overview()
  const just = new Date(backend.clock.now() - 60_000)
  const id = await buildServer(backend, {
    name: 'installs',
    address: '10.0.2.1',
    reachable: false,
    unreachable_since: just,
  })
  const target = { kind: 'server' as const, id, name: 'installs' }
  const operation = await inTransaction(db, (tx) =>
    backend.domains.operations.create(tx, system, {
      kind: 'serverReboot',
      target,
      queue: 'demo',
      steps: [{ key: 'wait', title: 'Wait for it' }],
    }),
  )
  await db.updateTable('server').set({ operation_id: operation.id }).where('id', '=', id).execute()
  const after = await overview()
  expect(after.servers).toMatchObject({ unreachable: before.servers.unreachable, away: 1 })
  expect(after.attention.total).toBe(before.attention.total)
  const found = async (reachable: 'true' | 'false' | 'away') =>
    (await viewer.call(serverList, { query: { reachable, q: 'installs' } })).answer!.items.map(
      (s) => s.id,
    )
  expect(await found('away')).toEqual([id])
  expect([...(await found('false')), ...(await found('true'))]).toEqual([])
})

test('the overview lists the first ten unreachable servers and their total number', async () => {
  for (let n = 0; n < 12; n++)
    await buildServer(backend, {
      name: `dark-${n}`,
      address: `10.0.1.${n}`,
      reachable: false,
      unreachable_since: since,
    })
  const { attention } = await overview()
  expect(attention.items).toHaveLength(10)
  expect(attention.total).toBe(19)
})
