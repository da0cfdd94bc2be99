// An installation with running operations is backed up, lost and restored while its simulated
// servers continue. Nothing is sent to them before a user resumes.
import path from 'node:path'
import { writeFileSync } from 'node:fs'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { auditList } from '#contract/audit.ts'
import { clusterDelete, clusterGet } from '#contract/clusters/clusters.ts'
import { findingList } from '#contract/findings/findings.ts'
import { operationCancel, operationGet, operationList } from '#contract/operations.ts'
import { patchCreate, patchPreview } from '#contract/patches.ts'
import { clusterResume, operationResume, restorationGet } from '#contract/restoration.ts'
import { serverCommands, serverList } from '#contract/servers/servers.ts'
import { clusterSubnetsAssign, subnetCreate } from '#contract/network/subnets.ts'
import { handOn } from '#simulator/src/kubernetes/hand.ts'
import { doctor } from '../../commands/doctor.ts'
import { backup, restore } from '../../commands/backup.ts'
import { type Backend, type SignedIn, startBackend } from '../../testing/backend.ts'
import { freshDatabase } from '../../testing/databases.ts'
import { isQuiet } from '../../testing/engine.ts'
import { temporaryFolder } from '../../testing/folder.ts'
import { urlOf } from '../../testing/postgres.ts'
import { runCommand } from '../../testing/surroundings.ts'
import { type Driver, realTime } from '../clusters/testing/driver.ts'
import { clusterWorld } from '../clusters/testing/world.ts'

const world = await clusterWorld({ servers: 6, seed: 'restored' })
const folder = temporaryFolder('restoration')
const passphraseFile = path.join(folder, 'passphrase')
writeFileSync(passphraseFile, 'a passphrase of the test\n', { mode: 0o600 })

/** Everything that was sent to the servers and their clusters. */
const told = () =>
  JSON.stringify([
    // Doesn't count what machines do on their own, such as the restart after an installation.
    world.simulator.servers.map(({ disk: { state } }) => [
      state.counters.applies,
      state.counters.reboots,
      state.counters.resets,
      state.counters.bootstrapCalls,
    ]),
    world.simulator.world.etcd.all.length,
    pools(),
  ])
const pools = () =>
  handOn(world.simulator.world, ready.cluster.name)!
    .show()
    .pools.map((p) => p.name)

let environment: Record<string, string>
let ready: Awaited<ReturnType<typeof world.create>>
let making: Awaited<ReturnType<typeof world.create>>
let rebooting: string
/** The findings about the ready cluster and its server at the time of the backup. */
let wrong: string[]
let restored: Backend
let admin: SignedIn
let driver: Driver
const ends: (() => Promise<unknown>)[] = []
afterAll(async () => {
  for (const end of ends.toReversed()) await end()
})

beforeAll(async () => {
  ready = await world.create(world.take(1))
  if ((await world.ended(ready.operation.id)).status !== 'done') throw new Error('No cluster')
  const subnet = await world.admin.call(subnetCreate, {
    body: { name: 'edge', cidr: '203.0.113.0/28', datacenter_id: world.datacenterId },
  })
  const assigned = await world.admin.call(clusterSubnetsAssign, {
    params: { id: ready.cluster.id },
    body: { subnet_ids: [subnet.answer!.id], force: false },
  })
  await world.ended(assigned.answer!.operation.id)
  making = await world.create(world.take(3))
  await world.until(
    () => world.operation(making.operation.id),
    (o) => o.steps.some((s) => s.status === 'done' && s.key.startsWith('apply/')),
  )
  await world.halt()
  // The reboot is requested but not sent to the server, because the reconcilers are stopped.
  const node = world.nodes[0]!
  rebooting = (await world.admin.call(serverCommands.serverReboot, { params: { id: node.id } }))
    .answer!.operation.id
  // A backup contains its own row.
  const { db } = world.backend.platform
  const at = new Date(world.backend.clock.now())
  const times = { created_at: at, updated_at: at }
  const store = await db
    .insertInto('store')
    .values({ name: 'offsite', kind: 'folder', folder: '/backups', ...times })
    .returning('id')
    .executeTakeFirstOrThrow()
  await db
    .insertInto('snapshot')
    .values({
      store_id: store.id,
      object_key: 'installation/own',
      made_by: 'schedule',
      attempts: 1,
      ...times,
    })
    .execute()
  // What was wrong with the cluster at the time of the backup.
  await world.backend.platform.db
    .updateTable('cluster')
    .set({
      problem: 'nodes',
      problem_since: new Date(world.backend.clock.now()),
      misses: 2,
      observed: JSON.stringify({
        etcd: [],
        api_servers: [{ node_id: node.id, name: node.name, ill: 'It is not ready', misses: 2 }],
        missing_disks: [{ node_id: node.id, name: node.name, device: '/dev/sdz', misses: 2 }],
      }),
    })
    .where('id', '=', ready.cluster.id)
    .execute()
  await world.backend.domains.findings.judge()
  const open = await world.admin.call(findingList, { query: { cluster: ready.cluster.name } })
  wrong = open.answer!.items.map((one) => one.kind)

  const file = path.join(folder, 'backup')
  const from = {
    STEELYARD_DATA: world.backend.config.dataFolder,
    DATABASE_URL: urlOf(world.backend.database.connection),
  }
  const made = await runCommand(
    (around) => backup([file, '--passphrase-file', passphraseFile], around),
    from,
  )
  if (made.code !== 0) throw new Error(made.err)
  const connection = await freshDatabase({ empty: true })
  const data = path.join(folder, 'data')
  environment = {
    STEELYARD_DATA: data,
    DATABASE_URL: urlOf(connection),
    STEELYARD_SIMULATE: '6',
    STEELYARD_DIAL_NETWORKS: '127.20.0.0/16',
    STEELYARD_SIMULATE_KEYS: world.backend.config.simulatedKeysFile!,
  }
  const ran = await runCommand(
    (around) => restore([file, '--passphrase-file', passphraseFile], around),
    environment,
  )
  if (ran.code !== 0) throw new Error(ran.err)
  if (!ran.out.includes('2 clusters and 2 open operations are held')) throw new Error(ran.out)
  restored = await startBackend({ environment, connection, clock: world.backend.clock })
  admin = await restored.signIn()
  driver = realTime(restored)
  ends.push(
    () => restored.stop(),
    () => driver.stop(),
  )
}, 600_000)

const operation = async (id: string) => (await admin.call(operationGet, { params: { id } })).answer!
const held = async () => (await admin.call(restorationGet)).answer!
const findings = async () => {
  await restored.domains.findings.judge()
  return (await admin.call(findingList, { query: { cluster: ready.cluster.name } })).answer!.items
}

test('what was wrong with a cluster at the time of the backup is no finding after the restore', async () => {
  const observed = ['cluster_api_server_down', 'cluster_nodes_not_ready', 'server_disk_missing']
  expect(wrong).toEqual(expect.arrayContaining(observed))
  expect((await findings()).filter(({ kind }) => observed.includes(kind))).toEqual([])
})

test('a backup that was being taken is not taken again, which would remove the file that was restored', async () => {
  const rows = await restored.platform.db.selectFrom('snapshot').selectAll().execute()
  expect(rows.map(({ status, object_key }) => [status, object_key])).toEqual([
    ['removed', 'installation/own'],
  ])
})

test('a held cluster is a finding, so that the channels tell of it', async () => {
  expect((await findings()).find(({ kind }) => kind === 'cluster_held')).toMatchObject({
    severity: 'attention',
    reason: expect.stringMatching(
      /^The database was restored from a backup of .*\. Nothing is sent to its servers until/,
    ) as string,
    remedies: [{ action: 'resume', call: `POST /v1/clusters/${ready.cluster.id}/resume` }],
  })
})

test('a cluster that is held after a restore can be resumed only after its servers were contacted', async () => {
  expect(await held()).toMatchObject({
    restored: { backup_made_at: expect.any(String) as string },
    clusters: [
      {
        name: ready.cluster.name,
        servers: 1,
        unasked: [expect.any(String) as string],
        operations: [{ kind: 'serverReboot' }],
      },
      {
        name: making.cluster.name,
        servers: 3,
        operations: [{ kind: 'clusterCreate', status: 'waiting' }],
      },
    ],
    operations: [],
  })
  const refused = await admin.call(clusterResume, { params: { id: ready.cluster.id } })
  expect(refused).toMatchObject({
    status: 409,
    problem: {
      code: 'transition_refused',
      error: expect.stringContaining('has not been contacted since the restore') as string,
    },
  })
  expect((await admin.call(operationResume, { params: { id: making.operation.id } })).status).toBe(
    409,
  )
})

test('servers that are held after a restore are only read; nothing is sent to them, even if changes are due or requested', async () => {
  for (const domain of restored.domains.all) {
    if (domain.name !== 'servers') {
      await domain.start?.()
      continue
    }
    await domain.start!()
    ends.push(() => domain.stop!())
  }
  // Somebody deletes the pool. If the cluster weren't held, Steelyard would restore the pool within
  // a minute.
  expect(pools()).toHaveLength(1)
  handOn(world.simulator.world, ready.cluster.name)!.remove(
    'ciliumloadbalancerippools',
    pools()[0]!,
  )
  await world.until(
    async () => (await admin.call(serverList)).answer!.items,
    (items) => items.length === 6 && items.every((s) => s.talos.reachable !== null),
  )
  const before = told()
  // As if two days had passed since the backup: all time limits are over, and all objects become
  // due several times.
  const { db } = restored.database
  await sql`update cluster_server set at_since = at_since - interval '2 days'`.execute(db)
  for (let times = 0; times < 10; times++) {
    await sql`update wake_up set due_at = ${new Date(restored.clock.now())}`.execute(db)
    await expect
      .poll(() => isQuiet(db, new Date(restored.clock.now())), { timeout: 600_000 })
      .toBe(true)
  }
  expect(told()).toBe(before)
  expect(pools()).toEqual([])
  const paused = (await admin.call(operationList, { query: { status: 'open' } })).answer!.items
  expect(
    paused.map((o) => [
      o.kind,
      o.status,
      /^Restored from a backup of .* UTC: check it, then resume it$/.test(o.reason ?? ''),
    ]),
  ).toEqual([
    ['serverReboot', 'waiting', true],
    ['clusterCreate', 'waiting', true],
  ])
  expect(
    (await admin.call(clusterGet, { params: { id: ready.cluster.id } })).answer!.reason,
  ).toMatch(/^Restored from a backup of .*, not checked since$/)
})

test('no operation starts on a held cluster; a cancel is accepted and waits until the cluster is resumed', async () => {
  const before = told()
  const refused = await admin.call(clusterDelete, {
    params: { id: ready.cluster.id },
    query: { force: 'true' },
  })
  expect(refused).toMatchObject({
    status: 409,
    problem: {
      code: 'operation_running',
      error: expect.stringContaining('older state that the database was restored to') as string,
    },
  })
  expect((await admin.call(operationCancel, { params: { id: rebooting } })).answer).toMatchObject({
    status: 'cancelling',
  })
  await expect
    .poll(() => isQuiet(restored.database.db, new Date(restored.clock.now())), { timeout: 600_000 })
    .toBe(true)
  expect(told()).toBe(before)
  expect(await operation(rebooting)).toMatchObject({
    status: 'cancelling',
    reason: expect.stringContaining('Restored') as string,
  })
})

test('doctor lists the held clusters and servers, and how to resume them, and a metric counts them', async () => {
  const metrics = await restored.app.inject({ url: '/metrics' })
  expect(metrics.body).toContain('\nsteelyard_held_objects{object="cluster"} 2\n')
  const { out } = await runCommand((around) => doctor(['--json'], around), environment)
  const findings = JSON.parse(out) as { check: string; verdict: string; text: string }[]
  expect(findings.find((f) => f.check === 'restore')).toEqual({
    check: 'restore',
    verdict: 'warning',
    text: expect.stringMatching(
      /^2 clusters are held since a restore, and nothing is sent to their servers.* steelyard cluster resume NAME/,
    ) as string,
  })
})

test('a patch of a held server can be previewed without a dry run of Talos, and saving it is refused', async () => {
  const node = world.nodes[0]!
  const body = 'machine:\n  sysctls:\n    vm.swappiness: "1"\n'
  const params = { id: node.id }
  const preview = await admin.call(patchPreview, { params, body: { weight: 500, body } })
  const sentence = `${node.name} is in the older state that the database was restored to: nothing is sent to it until somebody has checked and resumed it`
  expect(preview.answer!.verdict).toEqual({ kind: 'unknown', reason: sentence })
  const refused = await admin.call(patchCreate, {
    params,
    body: { name: 'swap', weight: 500, labels: {}, body },
  })
  expect(refused).toMatchObject({
    status: 409,
    problem: { code: 'operation_running', error: sentence },
  })
})

test('resuming a creation completes its cluster without repeated steps, and the other cluster stays held', async () => {
  const other = () => JSON.stringify(world.machine(world.nodes[0]!).disk.state.counters)
  const before = other()
  const { answer } = await admin.call(operationResume, { params: { id: making.operation.id } })
  expect(answer!.operations.map((o) => [o.id, o.status])).toEqual([
    [making.operation.id, 'running'],
  ])
  const end = await world.until(
    () => operation(making.operation.id),
    (o) => o.ended_at !== null,
  )
  expect(end).toMatchObject({ status: 'done', reason: null })
  expect(world.etcds(making.cluster.name)).toBe(1)
  for (const node of world.nodes.slice(1, 4))
    expect(world.machine(node).disk.state.counters.installs).toBe(1)
  expect(other()).toBe(before)
  expect((await held()).clusters.map((c) => c.name)).toEqual([ready.cluster.name])
  expect(
    (await admin.call(operationResume, { params: { id: making.operation.id } })).problem,
  ).toMatchObject({ code: 'transition_refused' })
})

test('a held cluster without operations can be resumed; its pools are then corrected, and nothing is held any more', async () => {
  expect((await admin.call(clusterResume, { params: { id: ready.cluster.id } })).status).toBe(200)
  expect(
    (
      await world.until(
        () => operation(rebooting),
        (o) => o.ended_at !== null,
      )
    ).status,
  ).toBe('cancelled')
  await world.until(
    async () => (await admin.call(clusterGet, { params: { id: ready.cluster.id } })).answer!,
    (c) => c.status === 'ready' && c.reason === null,
  )
  await world.until(
    async () => pools(),
    (names) => names.length === 1,
  )
  expect(await held()).toEqual({ restored: null, clusters: [], operations: [] })
  await world.until(findings, (open) => open.every(({ kind }) => kind !== 'cluster_held'))
  await restored.publish()
  const { items } = (await admin.call(auditList, { query: { q: 'resumed' } })).answer!
  expect(items.map((e) => e.action)).toEqual(['cluster.resumed', 'cluster.resumed'])
  expect(
    (await admin.call(serverCommands.serverReboot, { params: { id: world.nodes[0]!.id } })).status,
  ).toBe(202)
})
