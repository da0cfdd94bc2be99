import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { clusterGet, clusterList } from '#contract/clusters/clusters.ts'
import { overviewGet } from '#contract/overview.ts'
import { serverList } from '#contract/servers/servers.ts'
import { inTransaction } from '../../../db/db.ts'
import { startBackend } from '../../../testing/backend.ts'
import { buildCluster, buildServer } from '../../servers/testing.ts'
import { changeQueue, clusterQueue } from '../parts.ts'
import { listedFindings } from '../../../testing/overview.ts'

const backend = await startBackend()
const viewer = await backend.signIn({ role: 'viewer' })
const { db } = backend.platform
const id = randomUUID()
await buildCluster(backend, id, 'prod')
const at = new Date(backend.clock.now())
await db
  .updateTable('cluster')
  .set({ status: 'ready', ready_at: at, control_plane_at: at, nodes_ready_at: at })
  .where('id', '=', id)
  .execute()
const cluster = async () => (await viewer.call(clusterGet, { params: { id } })).answer!
const attention = async () => {
  await backend.domains.findings.judge()
  return listedFindings((await viewer.call(overviewGet)).answer).map(
    ({ kind, object, reason }) => ({ kind, name: object.name, reason }),
  )
}

test('a failure outside of any operation is shown on the ready cluster, in the overview and in events', async () => {
  const before = await cluster()
  expect(before.troubles).toEqual([])
  // Without its secrets the cluster can't be watched.
  await inTransaction(db, (tx) => backend.platform.engine.wake(tx, clusterQueue, id))
  await backend.engine.settle()
  const after = await cluster()
  expect(after).toMatchObject({
    troubles: [
      {
        node_id: null,
        message: expect.stringMatching(/^Steelyard cannot manage the cluster: ./) as string,
        retried: true,
      },
    ],
  })
  expect(after.version).toBeGreaterThan(before.version)
  expect((await viewer.call(clusterList)).answer!.items[0]!.troubles).toEqual(after.troubles)
  expect(await attention()).toEqual([
    { kind: 'cluster_action_fails', name: 'prod', reason: `${after.troubles[0]!.message}.` },
  ])

  await db
    .updateTable('wake_up')
    .set({ failures: 0, last_error: null })
    .where('key', '=', id)
    .execute()
  expect((await cluster()).troubles).toEqual([])
  expect(await attention()).toEqual([])
})

test("a configuration that can't be sent is shown on the cluster with the name of the server", async () => {
  const node = await buildServer(backend, {
    name: 'db-1',
    reachable: true,
    status: 'ready',
    cluster_id: id,
    cluster_name: 'prod',
  })
  await db
    .insertInto('cluster_server')
    .values({
      cluster_id: id,
      node_id: node,
      role: 'worker',
      position: 0,
      name: 'db-1',
      install_disk: '/dev/sda',
      install_image: 'x',
      interface: null,
      workload_disks: [],
      disk_wwids: '{}',
      at_since: at,
    })
    .execute()
  const failing = {
    queue: 'server-config',
    key: node,
    failures: 2,
    last_error: 'connection refused',
    due_at: null,
    owner: null,
  }
  await db.insertInto('wake_up').values(failing).execute()
  expect((await cluster()).troubles).toContainEqual({
    node_id: node,
    message: 'The configuration of db-1 cannot be sent: connection refused',
    retried: true,
  })
})

test('a change that fails or is halted is shown on its cluster, and whether Steelyard tries again', async () => {
  const change = {
    queue: changeQueue,
    key: id,
    failures: 3,
    last_error: 'out of memory',
    due_at: null,
    owner: null,
  }
  await db.insertInto('wake_up').values(change).execute()
  const message = 'The change of the cluster cannot go on: out of memory'
  const ofChange = async () =>
    (await cluster()).troubles.filter((one) => one.message === message).map((one) => one.retried)
  expect(await ofChange()).toEqual([true])
  expect(await attention()).toContainEqual({
    kind: 'cluster_action_fails',
    name: 'prod',
    reason: `${message}.`,
  })
  await db.updateTable('wake_up').set({ halted_at: at }).where('queue', '=', changeQueue).execute()
  expect(await ofChange()).toEqual([false])
})

test('a server that failed to join is in the overview until it is tried again, after its cluster if that has failed with it', async () => {
  const told = async () => (await attention()).filter(({ kind }) => kind.endsWith('_failed'))
  const failed = { failed_at: at, failure: 'db-1 came back in maintenance: input/output error' }
  const set = (change: typeof failed | { failed_at: null; failure: null }) =>
    db.updateTable('cluster_server').set(change).where('cluster_id', '=', id).execute()
  const server = async () => (await viewer.call(serverList)).answer!.items[0]!
  const before = await server()
  await set(failed)
  expect(await told()).toEqual([
    {
      kind: 'server_failed',
      name: 'db-1',
      reason: 'came back in maintenance: input/output error.',
    },
  ])
  // In the lists of servers the reason stands beside the server's name.
  const after = await server()
  expect(after).toMatchObject({
    failure: { since: at.toISOString(), reason: 'came back in maintenance: input/output error' },
  })
  // The failure and the finding, which is judged from it, are changes of the server.
  expect(after.version).toBe(before.version + 2)
  await db.updateTable('cluster').set({ status: 'failed' }).where('id', '=', id).execute()
  expect((await told()).map(({ kind }) => kind)).toEqual(['cluster_failed', 'server_failed'])
  await db.updateTable('cluster').set({ status: 'ready' }).where('id', '=', id).execute()
  await set({ failed_at: null, failure: null })
  expect(await told()).toEqual([])
  expect(await server()).toMatchObject({ version: after.version + 2, failure: null })
  // A server that leaves its cluster leaves its failure there.
  await set(failed)
  await db
    .updateTable('cluster_server')
    .set({ released_at: at })
    .where('cluster_id', '=', id)
    .execute()
  expect((await server()).failure).toBeNull()
})
