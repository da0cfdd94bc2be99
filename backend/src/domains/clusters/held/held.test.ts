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
import { startBackend } from '../../../testing/backend.ts'
import { buildCluster } from '../../servers/testing.ts'

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
