import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { clusterChange, clusterWindowSet } from '#contract/clusters/changes/changes.ts'
import { snapshotScheduleRemove } from '#contract/clusters/changes/snapshots.ts'
import {
  clusterDelete,
  clusterEvents,
  clusterGet,
  clusterList,
} from '#contract/clusters/clusters.ts'
import { clusterFilesHold, clusterFilesRelease } from '#contract/clusters/files.ts'
import { clusterSubnetsAssign } from '#contract/network/subnets.ts'
import { operationGet } from '#contract/operations.ts'
import { serverBulk, serverBulkPlan } from '#contract/servers/bulk.ts'
import { sharedPatchCreate, sharedPatchRollOut } from '#contract/shared-patches/shared-patches.ts'
import { startBackend } from '../../../testing/backend.ts'
import { buildCluster, buildServer } from '../../servers/testing.ts'

const backend = await startBackend()
const admin = await backend.signIn()
const viewer = await backend.signIn({ role: 'viewer' })

test('only the files that hold a cluster change it, until a person releases it', async () => {
  const id = randomUUID()
  const params = { id }
  await buildCluster(backend, id, 'held')
  await sql`update cluster set status = 'ready', ready_at = created_at where id = ${id}`.execute(
    backend.platform.db,
  )
  expect(
    (await viewer.call(clusterFilesHold, { params, body: { set: 'rack-12' } })).problem,
  ).toMatchObject({ code: 'forbidden' })
  const held = await admin.call(clusterFilesHold, { params, body: { set: 'rack-12' } })
  expect(held.answer!.files).toMatchObject({ set: 'rack-12' })

  const window = { days: ['sat' as const], from: '02:00', minutes: 60, time_zone: 'UTC' }
  for (const call of [
    () => admin.call(clusterChange, { params, body: { change: { kind: 'defragment' } } }),
    () => admin.call(clusterWindowSet, { params, body: { window } }),
    () => admin.call(clusterDelete, { params, query: {} }),
    () => admin.call(clusterFilesHold, { params, body: { set: 'other' } }),
    () => admin.call(clusterSubnetsAssign, { params, body: { subnet_ids: [] } }),
    () => admin.call(snapshotScheduleRemove, { params }),
  ])
    expect((await call()).problem).toMatchObject({
      code: 'held_by_files',
      error: expect.stringMatching(
        /^Only the files of the set rack-12 change held: .*@.* has said so .*release the cluster first$/,
      ) as string,
    })

  const setWindow = (set?: string) =>
    admin.call(
      clusterWindowSet,
      { params, body: { window } },
      set === undefined ? {} : { headers: { 'steelyard-apply': set } },
    )
  expect((await setWindow('other')).problem).toMatchObject({ code: 'held_by_files' })
  expect((await setWindow('rack-12')).answer).toMatchObject({ maintenance_window: window })

  expect((await admin.call(clusterFilesRelease, { params })).answer!.files).toBeNull()
  expect((await setWindow()).answer).toMatchObject({ maintenance_window: window })
  await backend.publish()
  const said = (await admin.call(clusterEvents, { params })).answer!.items.map((e) => e.message)
  // Held, the window twice, released: what was refused is no event of the cluster.
  expect(said).toHaveLength(4)
})

test('what was requested before files held the cluster, and has not begun, is left with that reason', async () => {
  const { db } = backend.platform
  const id = randomUUID()
  const [other] = (await admin.call(clusterList, { query: {} })).answer!.items
  await buildCluster(backend, id, 'locked', other?.datacenter.id)
  await db
    .updateTable('cluster')
    .set({ status: 'ready', ready_at: new Date(backend.clock.now()) })
    .where('id', '=', id)
    .execute()
  const server = await buildServer(backend, { name: 'wk-1', address: '10.0.0.2' })
  await db
    .insertInto('cluster_server')
    .values({
      cluster_id: id,
      node_id: server,
      role: 'worker',
      position: 0,
      name: 'wk-1',
      install_disk: '/dev/sda',
      install_image: 'x',
      interface: null,
      workload_disks: [],
      disk_wwids: '{}',
      at_since: new Date(backend.clock.now()),
    })
    .execute()
  await db
    .updateTable('server')
    .set({ cluster_id: id, cluster_name: 'locked', status: 'ready' })
    .where('id', '=', server)
    .execute()
  const shared = await admin.call(sharedPatchCreate, {
    body: {
      name: 'calm',
      body: 'machine: {sysctls: {vm.swappiness: "1"}}\n',
      targets: { node_ids: [server] },
    },
  })
  const act = { kind: 'reset' as const }
  const plan = (await admin.call(serverBulkPlan, { body: { act, node_ids: [server] } })).answer!
  expect(plan.items).toMatchObject([{ ok: true, reason: null }])
  const begun = await Promise.all([
    admin.call(serverBulk, {
      body: { act, items: plan.items.map(({ version }) => ({ id: server, version })), expected: 1 },
    }),
    admin.call(sharedPatchRollOut, { params: { id: shared.answer!.id }, body: {} }),
  ])
  await admin.call(clusterFilesHold, { params: { id }, body: { set: 'rack-12' } })
  await backend.engine.run(60_000)
  const said = expect.stringContaining('Only the files of the set rack-12 change locked') as string
  const ends = []
  for (const { answer } of begun)
    ends.push((await admin.call(operationGet, { params: { id: answer!.operation.id } })).answer!)
  expect(ends).toMatchObject([
    { status: 'failed', steps: [{ status: 'skipped', reason: said }] },
    { status: 'failed', steps: [{ status: 'failed', reason: said }] },
  ])
})

test('a maintenance window is not saved over one that somebody else has set since', async () => {
  const id = randomUUID()
  const [other] = (await admin.call(clusterList, { query: {} })).answer!.items
  await buildCluster(backend, id, 'edited', other?.datacenter.id)
  const set = (from: string, ifMatch?: number) =>
    admin.call(
      clusterWindowSet,
      {
        params: { id },
        body: { window: { days: ['sat'], from, minutes: 60, time_zone: 'UTC' } },
      },
      ifMatch === undefined ? {} : { ifMatch },
    )
  const { version } = (await set('02:00')).answer!
  expect((await set('03:00', version)).status).toBe(200)
  expect(await set('04:00', version)).toMatchObject({ status: 412, problem: { code: 'stale' } })
  expect(
    (await admin.call(clusterGet, { params: { id } })).answer!.maintenance_window,
  ).toMatchObject({ from: '03:00' })
})
