import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { overviewGet } from '#contract/overview.ts'
import { silenceCreate } from '#contract/alerts/silences.ts'
import { findingAcknowledge } from '#contract/findings/findings.ts'
import { serverList } from '#contract/servers/servers.ts'
import { inTransaction } from '../../db/db.ts'
import { system } from '../../http/caller.ts'
import { startBackend } from '../../testing/backend.ts'
import { listedFindings } from '../../testing/overview.ts'
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
    attention: { total: 0, acknowledged: 0, silenced: 0, silenced_incidents: [], groups: [] },
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
  const seen = await overview()
  expect(seen.attention?.total).toBe(7)
  const at = since.toISOString()
  expect(
    listedFindings(seen).map(({ kind, object, since: from, reason }) => [
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
      arguments: { waits: false, sent_in_boot: null },
      target,
      queue: 'demo',
      steps: [{ key: 'wait', title: 'Wait for it' }],
    }),
  )
  await db.updateTable('server').set({ operation_id: operation.id }).where('id', '=', id).execute()
  const after = await overview()
  expect(after.servers).toMatchObject({ unreachable: before.servers.unreachable, away: 1 })
  expect(after.attention?.total).toBe(before.attention?.total)
  const found = async (reachable: 'true' | 'false' | 'away') =>
    (await viewer.call(serverList, { query: { reachable, q: 'installs' } })).answer!.items.map(
      (s) => s.id,
    )
  expect(await found('away')).toEqual([id])
  expect([...(await found('false')), ...(await found('true'))]).toEqual([])
})

test('findings of one kind are one group with their number and the newest five, without those that were acknowledged or silenced', async () => {
  for (let n = 0; n < 12; n++)
    await buildServer(backend, {
      name: `dark-${n}`,
      address: `10.0.1.${n}`,
      reachable: false,
      unreachable_since: new Date(since.getTime() - n * 60_000),
    })
  const operator = await backend.signIn({ role: 'operator' })
  const silent = async () => {
    const { attention } = await overview()
    const { groups, ...numbers } = attention!
    return { ...numbers, group: groups.find(({ kind }) => kind === 'server_unreachable')! }
  }
  const before = await silent()
  expect(before).toMatchObject({
    total: 19,
    group: { severity: 'down', datacenter: null, count: 14 },
  })
  expect(before.group.since).toBe(new Date(since.getTime() - 11 * 60_000).toISOString())
  expect(before.group.items.map((f) => f.object.name)).toEqual([
    'db-2',
    'dark-0',
    'free',
    'dark-1',
    'dark-2',
  ])
  const [, first, second] = before.group.items
  await operator.call(findingAcknowledge, { params: { id: first!.id }, body: {} })
  await operator.call(silenceCreate, {
    body: {
      note: 'works',
      object: { kind: 'server', id: second!.object.id },
      ends_at: new Date(backend.clock.now() + 3_600_000).toISOString(),
    },
  })
  const after = await silent()
  expect(after).toMatchObject({ total: 17, acknowledged: 1, silenced: 1, group: { count: 12 } })
  expect(after.silenced_incidents).toHaveLength(1)
  const { servers } = await overview()
  expect(servers.in_clusters + servers.quarantined + servers.free).toBe(servers.total)
  expect(after.group.items.map((f) => f.object.name)).not.toContain('dark-0')
})

test('what happened in the last 24 hours is counted by kind and outcome, with the newest entry', async () => {
  const id = await buildServer(backend, { name: 'blinks', address: '10.0.3.1', reachable: true })
  const at = (hours: number) => new Date(backend.clock.now() - hours * 3_600_000)
  const entry = { kind: 'server_contact' as const, cluster: null, by: null }
  const object = { kind: 'server' as const, id, name: 'blinks' }
  await inTransaction(db, (tx) =>
    backend.domains.history.writeSimulated(tx, [
      { ...entry, object, at: at(25), after: { reachable: true } },
      { ...entry, object, at: at(3), after: { reachable: false, reason: 'connection refused' } },
      { ...entry, object, at: at(2), after: { reachable: true } },
      { ...entry, object, at: at(1), after: { reachable: false, reason: 'no route to host' } },
    ]),
  )
  const { last_day: day } = await overview()
  expect(Date.parse(day!.until) - Date.parse(day!.since)).toBe(24 * 3_600_000)
  expect(day!.groups.find(({ kind }) => kind === 'server_contact')).toEqual({
    kind: 'server_contact',
    entries: 3,
    objects: 1,
    simulated: 3,
    outcomes: [
      { outcome: 'false', entries: 2 },
      { outcome: 'true', entries: 1 },
    ],
    last: { at: at(1).toISOString(), object, message: 'No answer: no route to host' },
  })
  // What is read first comes first.
  expect(day!.groups[0]!.kind).toBe('finding_began')
})

test('a part that can not be read is null, and the others are there', async () => {
  await db.schema.alterTable('history').renameTo('history_away').execute()
  try {
    expect(await overview()).toMatchObject({ last_day: null, attention: { acknowledged: 1 } })
  } finally {
    await db.schema.alterTable('history_away').renameTo('history').execute()
  }
})
