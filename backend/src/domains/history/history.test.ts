import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { historyGet, historyKept, historyList } from '#contract/history/history.ts'
import { noPast } from '#contract/history/past.ts'
import { clusterKubeconfig } from '#contract/clusters/clusters.ts'
import { patchCreate, patchList, patchRemove, patchUpdate } from '#contract/patches.ts'
import { sharedPatchList } from '#contract/shared-patches/shared-patches.ts'
import { serverGetPast, serverListPast } from '#contract/servers/past-server.ts'
import { serverTalosconfig, serverUpdate } from '#contract/servers/servers.ts'
import { inTransaction, type Tx } from '../../db/db.ts'
import { system } from '../../http/caller.ts'
import { startBackend } from '../../testing/backend.ts'
import { buildCluster, buildServer } from '../servers/testing.ts'
import * as clusters from '../clusters/store.ts'
import * as servers from '../servers/store.ts'

const backend = await startBackend()
const operator = await backend.signIn({ role: 'operator', lasts: true })
const viewer = await backend.signIn({ role: 'viewer', lasts: true })
const { clock } = backend
const { db, tell } = backend.platform

const list = async (query: object = {}) =>
  (await viewer.call(historyList, { query: { per_page: 50, ...query } })).answer!
const messages = async (query: object) => (await list(query)).items.map((e) => e.message)
const now = () => new Date(clock.now())

const kept = { id: randomUUID(), name: 'kept-cluster' }
await buildCluster(backend, kept.id, kept.name)

const told = async (tx: Tx, id: string, changed: Promise<unknown>): Promise<void> => {
  await changed
  await tell(tx, system, { name: 'server.updated', object: { kind: 'server', id } })
}
/** A change that Steelyard itself makes. */
const change = (id: string, columns: servers.ServerChange) =>
  inTransaction(db, async (tx) => {
    await servers.lock(tx, [id])
    await told(tx, id, servers.update(tx, id, columns, now()))
  })

test('a lost and regained contact is in the history with its reason and its time', async () => {
  const id = await buildServer(backend, { name: 'lost-01', reachable: true })
  await change(id, { reachable: false, reason: 'connection refused', unreachable_since: now() })
  clock.advance(60_000)
  await change(id, { reachable: true, reason: null, unreachable_since: null })
  const { items } = await list({ object: id })
  expect(items.map((e) => [e.kind, e.message, e.by])).toEqual([
    ['server_contact', 'Answers', { kind: 'steelyard', name: 'Steelyard' }],
    ['server_contact', 'No answer: connection refused', { kind: 'steelyard', name: 'Steelyard' }],
  ])
  expect(Date.parse(items[0]!.at) - Date.parse(items[1]!.at)).toBe(60_000)
})

test('a change by a person is in the history with their name', async () => {
  const id = await buildServer(backend, { name: 'named-01' })
  await operator.call(serverUpdate, { params: { id }, body: { name: 'named-02' } })
  const [entry] = (await list({ object: id })).items
  expect(entry).toMatchObject({
    kind: 'server_renamed',
    message: 'Its name changed from named-01 to named-02',
    object: { kind: 'server', id, name: 'named-02' },
    before: { name: 'named-01' },
    after: { name: 'named-02' },
    by: { kind: 'user', name: operator.email },
    operation: null,
  })
  expect(await messages({ by: operator.email, object: id })).toHaveLength(1)
  expect(await messages({ by: 'Steelyard', object: id })).toEqual([])
})

test('a change that fails leaves no history', async () => {
  const id = await buildServer(backend, { name: 'failing-01', reachable: true })
  await expect(
    inTransaction(db, async (tx) => {
      await servers.lock(tx, [id])
      await servers.update(tx, id, { reachable: false }, now())
      throw new Error('fails')
    }),
  ).rejects.toThrow('fails')
  expect(await messages({ object: id })).toEqual([])
})

test('an entry can not be changed', async () => {
  const id = await buildServer(backend, { name: 'fixed-01' })
  await change(id, { stage: 'running' })
  await expect(
    db.updateTable('history').set({ message: 'x' }).where('object_id', '=', id).execute(),
  ).rejects.toThrow('the history is append-only')
})

test('patches are in the history by their names, never with their bodies', async () => {
  const id = await buildServer(backend, { name: 'patched-01' })
  const body = 'machine:\n  sysctls:\n    vm.swappiness: "13"\n'
  const params = { id }
  const { answer } = await operator.call(patchCreate, {
    params,
    body: { name: 'swap-less', body, weight: 50, labels: {} },
  })
  const one = { params: { id, patchId: answer!.patch_id } }
  await operator.call(patchUpdate, { ...one, body: { body: body.replace('13', '14') } })
  await operator.call(patchRemove, one)
  const { items } = await list({ object: id, by: operator.email })
  expect(items.map((e) => e.message)).toEqual([
    'The patch swap-less was removed',
    'The patch swap-less was changed',
    'The patch swap-less was added',
  ])
  expect(JSON.stringify(await db.selectFrom('history').selectAll().execute())).not.toContain(
    'swappiness',
  )
})

test('pages continue where another ended, also if entries were added meanwhile', async () => {
  const id = await buildServer(backend, { name: 'paged-01' })
  const stages = ['booting', 'running', 'rebooting', 'booting', 'running'] as const
  for (const stage of stages) await change(id, { stage })
  const first = await list({ object: id, per_page: 2 })
  await change(id, { stage: 'upgrading' })
  const second = await list({ object: id, per_page: 2, after: first.next })
  const third = await list({ object: id, per_page: 2, after: second.next })
  expect([...first.items, ...second.items, ...third.items].map((e) => e.after['stage'])).toEqual(
    stages.toReversed(),
  )
  expect(third.next).toBeNull()
  const refused = await viewer.call(historyList, { query: { after: 'x', per_page: 2 } })
  expect(refused.status).toBe(400)
})

test('a cluster shows what happened to its servers while they were its own', async () => {
  const cluster = kept
  const id = await buildServer(backend, { name: 'member-01' })
  await change(id, { stage: 'booting' })
  await change(id, { cluster_id: cluster.id, cluster_name: cluster.name, type: 'worker' })
  await change(id, { stage: 'running' })
  await change(id, { cluster_id: null, cluster_name: null, type: 'unknown' })
  await change(id, { stage: 'maintenance' })
  expect(await messages({ cluster: cluster.id })).toEqual([
    'Left the cluster kept-cluster',
    'Is running',
    'Assigned to the cluster kept-cluster as worker',
  ])
})

test('words of an entry are found by their beginnings, with names in several parts', async () => {
  const id = await buildServer(backend, { name: 'poz-edge-04' })
  await change(id, { reachable: false, reason: "dial tcp 10.0.4.9:50000: can't connect" })
  for (const q of ['poz-edge-04', 'refus poz', 'edge', '10.0.4.9', "can't", 'answer poz-edge'])
    expect.soft((await list({ q, object: id })).items.length, q).toBe(q.startsWith('refus') ? 0 : 1)
  expect((await list({ q: `'\\ & | ! :* (`, object: id })).items).toEqual([])
})

test('the log of a failing boot is kept with the failure', async () => {
  const cluster = kept.id
  const id = await buildServer(backend, {
    name: 'boots-01',
    cluster_id: cluster,
    cluster_name: kept.name,
  })
  const at = now()
  await inTransaction(db, (tx) =>
    clusters.insertMembers(tx, [
      {
        cluster_id: cluster,
        node_id: id,
        role: 'worker',
        position: 0,
        name: 'boots-01',
        interface: null,
        install_disk: '/dev/sda',
        install_image: 'factory.talos.dev/installer/x:v1.13.9',
        at_since: at,
        sent_at: at,
        sends: 1,
        stage: null,
      },
    ]),
  )
  clock.advance(1_000)
  await inTransaction(db, (tx) =>
    clusters.updateMember(tx, cluster, id, {
      failure_log: 'line 1\nline 2',
      failure_log_at: now(),
      trouble: 'no space left on device',
    }),
  )
  clock.advance(1_000)
  await inTransaction(db, (tx) =>
    told(tx, id, clusters.updateMember(tx, cluster, id, { sends: 2, sent_at: now() })),
  )
  const [entry] = (await list({ object: id, kind: 'server_boot' })).items
  expect(entry).toMatchObject({
    has_log: true,
    message: 'The last lines of a failing boot were kept: no space left on device',
  })
  const { answer } = await viewer.call(historyGet, { params: { id: entry!.id } })
  expect(answer!.log).toEqual(['line 1', 'line 2'])
  expect((await viewer.call(historyGet, { params: { id: 999_999 } })).status).toBe(404)
  // The server joins, and an upgrade of its cluster fails on it later.
  await inTransaction(db, (tx) =>
    told(tx, id, clusters.updateMember(tx, cluster, id, { node_ready_at: now(), trouble: null })),
  )
  clock.advance(1_000)
  const operation = randomUUID()
  const failed = { failure_log: 'line 3', failure_log_at: now(), trouble: 'it kept its version' }
  await inTransaction(db, (tx) =>
    told(tx, id, clusters.updateMember(tx, cluster, id, failed, operation)),
  )
  const boots = await list({ object: id, kind: 'server_boot' })
  expect(boots.items).toHaveLength(2)
  expect(boots.items[0]).toMatchObject({
    has_log: true,
    message: 'The last lines of its log were kept: it kept its version',
    operation: { id: operation },
  })
})

/** Adds a server as the calls do, so that the history has its beginning. */
async function added(name: string, columns: servers.ServerChange = {}): Promise<string> {
  const id = randomUUID()
  const at = now()
  await inTransaction(db, async (tx) => {
    const row = { id, name, address: `10.9.${++added.n}.1`, uuid: randomUUID(), serial: id }
    const since = { identity_since: at, created_at: at, updated_at: at }
    const state = { identity_state: 'confirmed' as const }
    await told(tx, id, servers.insert(tx, [{ ...row, ...since, ...state }]))
    await servers.update(tx, id, columns, at)
  })
  return id
}
added.n = 0
const then = () => now().toISOString()
const namesAt = async (at: string, query: object = {}) =>
  (await viewer.call(serverListPast, { query: { at, q: 'then-', ...query } })).answer!.items.map(
    ({ name }) => name,
  )
const oneAt = async (id: string, at: string) =>
  (await viewer.call(serverGetPast, { params: { id }, query: { at } })).answer!

test('what was removed, renamed or moved since is as it was at a time', async () => {
  await sql`update migration set run_at = ${now()} where name = 'history'`.execute(db)
  const other = { id: randomUUID(), name: 'other-cluster' }
  const [place] = await db.selectFrom('datacenter').select('id').execute()
  await buildCluster(backend, other.id, other.name, place!.id)
  const member = { cluster_id: kept.id, cluster_name: kept.name, type: 'worker' } as const
  const [first, moved] = [await added('then-01'), await added('then-02', member)]
  await change(moved, { reachable: false, reason: 'connection refused', node_ready: false })
  const silent = then()
  clock.advance(60_000)
  const before = then()
  clock.advance(60_000)
  await change(first, { status: 'deleted', removed_at: now() })
  await change(moved, { cluster_id: other.id, cluster_name: other.name })
  await change(moved, { reachable: true, talos_version: 'v1.13.9' })
  const between = then()
  clock.advance(60_000)
  // Another server has the name now.
  const second = await added('then-01')
  await change(moved, { name: 'then-03' })
  const after = then()
  clock.advance(60_000)
  expect(await namesAt(before)).toEqual(['then-01', 'then-02'])
  expect(await namesAt(between)).toEqual(['then-02'])
  expect(await namesAt(between, { status: 'deleted' })).toEqual(['then-01'])
  expect(await namesAt(after)).toEqual(['then-01', 'then-03'])
  const named = async (at: string) =>
    (await viewer.call(serverListPast, { query: { at, q: 'then-01' } })).answer!.items[0]?.id
  expect([await named(before), await named(between), await named(after)]).toEqual([
    first,
    undefined,
    second,
  ])
  expect(await oneAt(moved, before)).toMatchObject({
    name: 'then-02',
    cluster: { id: kept.id, name: kept.name },
    kubernetes: { ready: false },
    talos: { reachable: false, reason: 'connection refused', unreachable_since: silent },
    resources: null,
    at: before,
  })
  const one = await oneAt(moved, after)
  expect(one).toMatchObject({ name: 'then-03', cluster: other, talos: { version: 'v1.13.9' } })
  expect(one.not_recorded).toEqual(
    expect.arrayContaining(['resources', 'eligibility', 'talos.last_contact_at', 'operation_id']),
  )
  expect((await oneAt(first, after)).status).toBe('deleted')
  const unknown = { params: { id: second }, query: { at: before } }
  expect((await viewer.call(serverGetPast, unknown)).status).toBe(404)
})

test('a time of which nothing is known, or to come, is refused with the reason', async () => {
  const asked = async (at: string) => {
    const { status, problem } = await viewer.call(serverListPast, { query: { at } })
    return [status, problem?.code, problem?.error]
  }
  const [soon, early] = [new Date(clock.now() + 1_000).toISOString(), '2020-01-01T00:00:00.000Z']
  expect(await asked(soon)).toEqual([400, 'bad_request', `${soon} is in the future`])
  expect(await asked(early)).toEqual([
    422,
    'before_history',
    expect.stringMatching(
      /^The history begins at \S+Z: nothing is known of 2020-01-01T00:00:00.000Z$/,
    ),
  ])
  expect((await asked('yesterday'))[0]).toBe(400)
  // Each would be today's values.
  for (const query of [{ eligible: 'true' }, { cc: 'none' }, { reachable: 'away' }] as const)
    expect((await viewer.call(serverListPast, { query: { at: then(), ...query } })).status).toBe(
      400,
    )
})

test('a write, a secret and the body of a patch have no past', async () => {
  const params = { id: await added('pastless-01') }
  const ofCluster = { id: kept.id }
  const admin = await backend.signIn({ lasts: true })
  const query = { at: then() } as never
  const refused = [
    admin.call(serverUpdate, { params, body: { name: 'pastless-02' }, query }),
    admin.call(serverTalosconfig, { params, query }),
    admin.call(clusterKubeconfig, { params: ofCluster, query }),
    admin.call(patchList, { params, query }),
    admin.call(sharedPatchList, { query }),
  ]
  for (const { status, problem } of await Promise.all(refused))
    expect([status, problem?.error]).toEqual([400, noPast])
  expect((await oneAt(params.id, then())).name).toBe('pastless-01')
})

test('old entries are removed, and the state after them is still known', async () => {
  const id = await buildServer(backend, { name: 'old-01', reachable: true })
  await change(id, { stage: 'running', talos_version: 'v1.13.1' })
  clock.advance(800 * 24 * 3_600_000)
  await change(id, { reachable: false })
  // Steelyard kept a history from then on.
  const since = new Date(clock.now() - 801 * 24 * 3_600_000)
  await sql`update migration set run_at = ${since} where name = 'history'`.execute(db)
  expect((await list({ object: id })).beginning).toEqual({
    at: since.toISOString(),
    is_cut: false,
    known: null,
  })
  const before = (await viewer.call(historyKept)).answer!
  const { history } = backend.domains
  const removed = (await Promise.all([history.prune(), history.prune()])).reduce((a, b) => a + b, 0)
  const after = (await viewer.call(historyKept)).answer!
  expect(removed).toBe(before.entries - after.entries)
  expect(await messages({ object: id })).toEqual(['No answer'])
  const [oldest] = (await list({ sort: 'at' })).items
  expect((await list({ object: id })).beginning).toEqual({
    at: oldest!.at,
    is_cut: true,
    known: 'running, with Talos v1.13.1',
  })
  expect((await list()).beginning).toMatchObject({ is_cut: true, known: null })
  const { servers: states } = await inTransaction(db, (tx) => history.at(tx, now()))
  const then = { at: new Date(clock.now() - 790 * 24 * 3_600_000).toISOString() }
  const { problem } = await viewer.call(serverListPast, { query: then })
  expect(problem?.code).toBe('before_history')
  expect(states.get(id)).toMatchObject({
    stage: 'running',
    talos_version: 'v1.13.1',
    reachable: false,
  })
})

test('a simulated past is listed as such, is written once, and no state is computed from it', async () => {
  const id = await buildServer(backend, { name: 'made-up-01', reachable: true })
  const write = () =>
    inTransaction(db, (tx) =>
      backend.domains.history.writeSimulated(tx, [
        {
          at: new Date(clock.now() - 20 * 24 * 3_600_000),
          kind: 'server_contact',
          object: { kind: 'server', id, name: 'made-up-01' },
          cluster: null,
          by: null,
          before: { reachable: true },
          after: { reachable: false, reason: 'connection refused' },
        },
      ]),
    )
  expect([await write(), await write()]).toEqual([1, 0])
  const { items } = await list({ object: id, kind: 'server_contact' })
  expect(items).toMatchObject([{ message: 'No answer: connection refused', simulated: true }])
  const states = await inTransaction(db, (tx) => backend.domains.history.at(tx, now()))
  expect(states.servers.get(id)?.reachable).not.toBe(false)
})
