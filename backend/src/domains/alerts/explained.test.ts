import { randomUUID } from 'node:crypto'
import { beforeEach, expect, test } from 'vitest'
import { channelCreate } from '#contract/alerts/channels.ts'
import { findingList } from '#contract/findings/findings.ts'
import type { OperationKind } from '#contract/operations.ts'
import { startBackend } from '../../testing/backend.ts'
import { buildCluster, buildServer } from '../servers/testing.ts'
import type { Content } from './message.ts'

const backend = await startBackend({ environment: { STEELYARD_ALERT_NETWORKS: '127.0.0.0/8' } })
const admin = await backend.signIn({ lasts: true })
const { db } = backend.platform
const { findings } = backend.domains

const now = () => new Date(backend.clock.now())

/** What messages were made of, whether or not they arrived: `began web-1`. */
const told = async () => {
  const rows = await db.selectFrom('delivery').select('content').orderBy('created_at').execute()
  return rows.map(({ content }) =>
    (content as Content).items.map((one) => `${one.event} ${one.object.name}`),
  )
}
const silent = { reachable: false, reason: 'connection refused' }
const notReady = { node_ready: false, node_reason: 'NodeStatusUnknown' }
const note = async (id: string, change: object) => {
  await db.updateTable('server').set(change).where('id', '=', id).execute()
  await findings.judge()
}

/** A running operation with a step on this server. */
async function work(
  serverId: string,
  kind: OperationKind = 'clusterUpgradeTalos',
): Promise<string> {
  const { id } = await db
    .insertInto('operation')
    .values({
      kind,
      target_kind: 'cluster',
      target_id: randomUUID(),
      target_name: 'web',
      status: 'running',
      created_by_name: 'ada@example.com',
      created_at: now(),
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  await db
    .insertInto('operation_step')
    .values({
      operation_id: id,
      key: `upgrade/${serverId}`,
      position: 0,
      title: 'Upgrade',
      node_id: serverId,
      status: 'running',
      started_at: now(),
    })
    .execute()
  return id
}
const end = async (id: string, status: 'failed' | 'done') => {
  await db
    .updateTable('operation_step')
    .set({ status, ended_at: now() })
    .where('operation_id', '=', id)
    .execute()
  await db.updateTable('operation').set({ status, ended_at: now() }).where('id', '=', id).execute()
}

beforeEach(async () => {
  await db.deleteFrom('channel').execute()
  await db.deleteFrom('delivery').execute()
  await db.updateTable('cluster').set({ problem: null, problem_since: null }).execute()
  await db
    .updateTable('server')
    .set({ reachable: true, unreachable_since: null, reason: null, node_ready: null })
    .execute()
  await db.deleteFrom('finding').execute()
  await admin.call(channelCreate, {
    body: {
      name: 'on-call',
      kind: 'webhook',
      url: 'http://127.0.0.1:9',
      secret: `whsec_${Buffer.alloc(32, 7).toString('base64')}`,
    },
  })
})

test('what a running change explains is not sent until the change has ended, and another server is sent', async () => {
  const [restarting, unlucky] = [
    await buildServer(backend, { name: 'restarting', reachable: true }),
    await buildServer(backend, { name: 'unlucky', reachable: true }),
  ]
  const id = await work(restarting)
  for (const one of [restarting, unlucky]) await note(one, { ...silent, unreachable_since: now() })
  await backend.engine.run(1_800_000)
  expect(await told()).toEqual([['began unlucky']])
  await end(id, 'failed')
  await backend.engine.run(180_000)
  expect(await told()).toEqual([['began unlucky'], ['began restarting']])
})

test('a server that falls silent right after it was added is told: nothing has restarted it', async () => {
  const added = await buildServer(backend, { name: 'new', reachable: true })
  await end(await work(added, 'serverAdd'), 'done')
  await note(added, { ...silent, unreachable_since: now() })
  await backend.engine.run(180_000)
  expect(await told()).toEqual([['began new']])
})

test('a cluster is not told to be degraded while a change restarts its server, unless another one fails', async () => {
  const cluster = { cluster_id: randomUUID(), cluster_name: 'web' }
  await buildCluster(backend, cluster.cluster_id, 'web')
  const restarting = await buildServer(backend, { name: 'web-1', reachable: true, ...cluster })
  const unlucky = await buildServer(backend, { name: 'web-2', reachable: true, ...cluster })
  const id = await work(restarting)
  await db
    .updateTable('cluster')
    .set({
      status: 'ready',
      ready_at: now(),
      reason: 'web-1 is not Ready',
      problem: 'nodes',
      problem_since: now(),
    })
    .where('id', '=', cluster.cluster_id)
    .execute()
  await note(restarting, {
    operation_id: id,
    ...silent,
    unreachable_since: now(),
    ...notReady,
    node_since: now(),
  })
  await backend.engine.run(600_000)
  const { items } = (await admin.call(findingList, {})).answer!
  expect(items).toMatchObject([{ kind: 'cluster_nodes_not_ready', object: { name: 'web' } }])
  expect(await told()).toEqual([])
  await note(unlucky, { ...silent, unreachable_since: now() })
  await backend.engine.run(180_000)
  // The node that isn't Ready is part of the incident of the server that fell silent.
  expect(await told()).toEqual([['began web-2']])
})

test('a server that is still silent five minutes after the change is told', async () => {
  const restarting = await buildServer(backend, { name: 'slow', reachable: true })
  const id = await work(restarting)
  await note(restarting, { ...silent, unreachable_since: now() })
  await end(id, 'done')
  await backend.engine.run(240_000)
  expect(await told()).toEqual([])
  await backend.engine.run(240_000)
  expect(await told()).toEqual([['began slow']])
})
