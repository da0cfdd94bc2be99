import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { type OperationKind, operationList } from '#contract/operations.ts'
import { overviewGet } from '#contract/overview.ts'
import { startBackend } from '../../testing/backend.ts'

const backend = await startBackend()
const { operations } = backend.domains
const { db } = backend.platform

type Status = 'pending' | 'running' | 'cancelled' | 'failed' | 'done'
const servers = [randomUUID(), randomUUID(), randomUUID(), randomUUID()]

/** A change of the cluster. The clock goes on by a minute. */
async function change(
  clusterId: string,
  status: Status,
  more: { kind?: OperationKind; in_window?: boolean; starts_at?: Date; ended_at?: Date } = {},
): Promise<string> {
  backend.clock.advance(60_000)
  const at = new Date(backend.clock.now())
  const { id } = await db
    .insertInto('operation')
    .values({
      kind: 'clusterConfigure',
      target_kind: 'cluster',
      target_id: clusterId,
      target_name: 'web',
      status,
      reason: status === 'failed' ? 'web-2 does not answer' : null,
      created_by_name: 'ada@example.com',
      created_at: at,
      started_at: status === 'pending' ? null : at,
      ended_at: status === 'pending' || status === 'running' ? null : at,
      ...more,
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}

/** An upgrade of the cluster with a step for each server. */
async function upgrade(
  clusterId: string,
  status: Status,
  steps: readonly ('done' | 'failed' | 'todo' | 'skipped')[],
  drained: readonly ('done' | 'skipped')[] = [],
): Promise<string> {
  const id = await change(clusterId, status, { kind: 'clusterUpgradeTalos' })
  await db
    .insertInto('operation_step')
    .values(
      [
        ...drained.map((status, nth) => ({ key: 'uncordon', title: 'Uncordon', status, nth })),
        ...steps.map((status, nth) => ({ key: 'upgrade', title: 'Upgrade', status, nth })),
      ].map(({ key, title, status, nth }, position) => ({
        operation_id: id,
        key: `${key}/${servers[nth]}`,
        position,
        title,
        node_id: servers[nth]!,
        status,
      })),
    )
    .execute()
  return id
}
const stoppedOf = async (clusterId: string) =>
  (await operations.stoppedUpgrades(db)).filter((one) => one.cluster_id === clusterId)

test('an upgrade that stopped half way is replaced by one that begins, and not by one that waits or changed nothing', async () => {
  const cluster = randomUUID()
  const first = await upgrade(cluster, 'failed', ['done', 'done', 'failed', 'todo'])
  const stopped = { operation_id: first, servers: { done: 2, of: 4 }, left: servers.slice(2) }
  expect(await stoppedOf(cluster)).toMatchObject([stopped])
  await upgrade(cluster, 'pending', ['todo', 'todo'])
  expect(await stoppedOf(cluster)).toMatchObject([stopped])
  await upgrade(cluster, 'cancelled', ['skipped', 'skipped'])
  expect(await stoppedOf(cluster)).toMatchObject([stopped])
  await upgrade(cluster, 'cancelled', ['skipped', 'skipped'], ['done', 'skipped'])
  expect(await stoppedOf(cluster)).toMatchObject([stopped])
  const further = await upgrade(cluster, 'cancelled', ['done', 'skipped'])
  expect(await stoppedOf(cluster)).toMatchObject([{ operation_id: further }])
  await upgrade(cluster, 'done', ['done'])
  expect(await stoppedOf(cluster)).toEqual([])
})

test('a cancelled upgrade that changed no server is not half way', async () => {
  const cluster = randomUUID()
  await upgrade(cluster, 'cancelled', ['skipped', 'skipped'])
  expect(await stoppedOf(cluster)).toEqual([])
})

const failedOf = async (clusterId: string) =>
  (await operations.failedScheduled(db)).filter((one) => one.cluster_id === clusterId)

test('a scheduled change that failed is told until somebody asks for another change', async () => {
  const cluster = randomUUID()
  const inWindow = await change(cluster, 'failed', { in_window: true })
  expect(await failedOf(cluster)).toMatchObject([
    { operation_id: inWindow, kind: 'clusterConfigure', reason: 'web-2 does not answer' },
  ])
  await change(cluster, 'done', { kind: 'clusterSnapshot' })
  expect(await failedOf(cluster)).toMatchObject([{ operation_id: inWindow }])
  await change(cluster, 'pending')
  expect(await failedOf(cluster)).toEqual([])
  const atTime = await change(cluster, 'failed', { starts_at: new Date(backend.clock.now()) })
  expect(await failedOf(cluster)).toMatchObject([{ operation_id: atTime }])
})

test('a scheduled change that failed is told although others were asked for while it waited', async () => {
  const cluster = randomUUID()
  const inWindow = new Date(backend.clock.now() + 3_600_000)
  const first = await change(cluster, 'failed', { in_window: true, ended_at: inWindow })
  await change(cluster, 'done')
  const second = await change(cluster, 'failed', {
    in_window: true,
    ended_at: new Date(inWindow.getTime() + 60_000),
  })
  await change(cluster, 'cancelled', { in_window: true })
  expect((await failedOf(cluster)).map((one) => one.operation_id)).toEqual([first, second])
})

test('no channel is told of a change that failed as somebody looked on, and upgrades have their own finding', async () => {
  const cluster = randomUUID()
  await change(cluster, 'failed')
  await change(cluster, 'failed', { kind: 'clusterUpgradeTalos', in_window: true })
  expect(await failedOf(cluster)).toEqual([])
})

test('a change that waits for its time or for the maintenance window is not in progress', async () => {
  const admin = await backend.signIn()
  const cluster = randomUUID()
  const running = await change(cluster, 'running', { in_window: true })
  const pending = await change(cluster, 'pending')
  const waiting = [
    await change(cluster, 'pending', { in_window: true }),
    await change(cluster, 'pending', { starts_at: new Date(backend.clock.now()) }),
  ]
  const listed = async (status: 'in_progress' | 'open') =>
    (await admin.call(operationList, { query: { status, target: cluster } })).answer!.items.map(
      (o) => o.id,
    )
  expect(await listed('in_progress')).toEqual([pending, running])
  expect(await listed('open')).toEqual([...waiting.toReversed(), pending, running])
  const shown = (await admin.call(overviewGet, {})).answer!.running!.map((o) => o.id)
  expect(shown).toEqual(expect.arrayContaining([pending, running]))
  expect(shown).not.toEqual(expect.arrayContaining([waiting[0]]))
})
