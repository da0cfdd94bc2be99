import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { historyList } from '#contract/history/history.ts'
import { operationGet, type OperationKind } from '#contract/operations.ts'
import { isDatabaseAway } from '../../causes/causes.ts'
import { startBackend } from '../../testing/backend.ts'
import { buildCluster, buildServer } from '../servers/testing.ts'
import { removeOld } from './removing.ts'

const backend = await startBackend()
const { db } = backend.platform
const dayMs = 86_400_000
const daysAgo = (days: number) => new Date(backend.clock.now() - days * dayMs)

interface Made {
  readonly target: string | null
  /** Of its creation, a minute before its end. */
  readonly days: number
  readonly status?: 'done' | 'failed' | 'cancelled' | 'running'
  readonly kind?: OperationKind
  readonly name?: string
}
async function make({ target, days, status = 'done', kind = 'serverReboot', name }: Made) {
  const created_at = daysAgo(days)
  const { id } = await db
    .insertInto('operation')
    .values({
      kind,
      target_kind: kind.startsWith('cluster') ? 'cluster' : 'server',
      target_id: target,
      target_name: name ?? 'calm-otter-101',
      status,
      created_by_name: 'ada@example.com',
      created_at,
      ended_at: status === 'running' ? null : new Date(created_at.getTime() + 60_000),
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  await db
    .insertInto('operation_step')
    .values({ operation_id: id, key: 'ask', position: 0, title: 'Ask it to reboot' })
    .execute()
  return id
}
/** An old operation that a later one has followed, so that nothing but its age decides. */
async function followed(kind: OperationKind = 'serverReboot', target?: string) {
  const on = target ?? (await buildServer(backend))
  const id = await make({ target: on, days: 800, kind })
  await make({ target: on, days: 10, kind })
  return { id, on }
}
const left = async (ids: readonly string[]) =>
  new Set(
    (await db.selectFrom('operation').select('id').where('id', 'in', ids).execute()).map(
      (row) => row.id,
    ),
  )
const remove = () => removeOld(backend.platform)

test('an operation whose end is older than the history is removed with its steps, and a link says so', async () => {
  const { id, on } = await followed()
  const gone = await make({ target: randomUUID(), days: 800 })
  await sql`insert into history (at, kind, object_kind, object_id, object_name, actor_kind, actor_name, operation_id, requested_by, message, before, after)
    values (${daysAgo(1)}, 'operation_ended', 'server', ${on}, 'a server', 'steelyard', 'Steelyard', ${id}, 'ada@example.com', 'Ended', '{}', '{}')`.execute(
    db,
  )
  const viewer = await backend.signIn({ role: 'viewer' })
  expect((await viewer.call(operationGet, { params: { id } })).status).toBe(200)
  expect((await remove()).operations).toBe(2)
  expect(await left([id, gone])).toEqual(new Set())
  expect(
    await db.selectFrom('operation_step').select('key').where('operation_id', '=', id).execute(),
  ).toEqual([])
  const asked = await viewer.call(operationGet, { params: { id } })
  expect([asked.status, asked.problem?.error]).toEqual([
    404,
    'There is no such operation. An operation may be removed 730 days after its end',
  ])
  const { answer } = await viewer.call(historyList, { query: { object: on, per_page: 10 } })
  expect(answer!.items[0]!.operation).toEqual({ id, kind: null, by: 'ada@example.com' })
})

test('the last operation of a kind on an object stays, also if a cancelled or another one followed', async () => {
  const target = await buildServer(backend)
  const failed = await make({ target, days: 900, status: 'failed' })
  const cancelled = await make({ target, days: 800, status: 'cancelled' })
  const other = await make({ target, days: 700, kind: 'serverReset' })
  const open = await make({ target: await buildServer(backend), days: 900, status: 'running' })
  const young = await make({ target: randomUUID(), days: 729 })
  const kept = [failed, cancelled, other, open, young]
  await remove()
  expect(await left(kept)).toEqual(new Set(kept))
  const next = await make({ target, days: 1 })
  await remove()
  expect(await left([...kept, next])).toEqual(new Set([other, open, young, next]))
})

test('an operation that a finding, a server, a cluster, an act on many or a rollback needs stays', async () => {
  const ofServer = await followed()
  await db
    .updateTable('server')
    .set({ operation_id: ofServer.id })
    .where('id', '=', ofServer.on)
    .execute()
  const clusterId = randomUUID()
  await buildCluster(backend, clusterId, `c-${clusterId.slice(0, 8)}`)
  const ofCluster = await followed('clusterUpgradeTalos', clusterId)
  await db
    .updateTable('cluster')
    .set({ operation_id: ofCluster.id })
    .where('id', '=', clusterId)
    .execute()
  const finding = async (ended_at: Date | null) => {
    const { id, on } = await followed()
    await db
      .insertInto('finding')
      .values({
        kind: 'server_unreachable',
        severity: 'down',
        object_kind: 'server',
        object_id: on,
        object_name: 'a server',
        operation_id: id,
        since: daysAgo(800),
        reason: 'A reason.',
        begins: [daysAgo(800)],
        ended_at,
      })
      .execute()
    return id
  }
  const ofFinding = await finding(null)
  const ofEnded = await finding(daysAgo(700))
  const begun = await followed()
  await db
    .insertInto('server_bulk_item')
    .values({
      operation_id: await make({ target: null, days: 1, status: 'running', kind: 'serverBulk' }),
      server_id: begun.on,
      position: 0,
      version: 1,
      begun_id: begun.id,
    })
    .execute()
  const upgrade = async (sent_at: Date | null) => {
    const { id, on } = await followed('serverReset')
    await db
      .insertInto('talos_upgrade')
      .values({
        operation_id: id,
        node_id: on,
        image: 'new',
        version: 'v1.13.9',
        schematic: 'a',
        version_before: 'v1.13.8',
        schematic_before: 'a',
        sent_at,
        created_at: daysAgo(800),
      })
      .execute()
    return id
  }
  const ofRollback = await upgrade(daysAgo(800))
  const unsent = await upgrade(null)
  await remove()
  const kept = [ofServer.id, ofCluster.id, ofFinding, begun.id, ofRollback]
  expect(await left([...kept, ofEnded, unsent])).toEqual(new Set(kept))
})

test('old effects are removed, but not of an object that fails, has ended its process or is at work', async () => {
  const effect = async (
    key: string,
    how: 'done' | 'failed' | 'unknown',
    days = 800,
  ): Promise<string> => {
    const at = daysAgo(days)
    const name = `configure/${randomUUID()}`
    await db
      .insertInto('effect')
      .values({
        queue: 'demo',
        key,
        name,
        fence: 1,
        attempts: 1,
        intent_at: at,
        done_at: how === 'done' ? at : null,
        failed_at: how === 'failed' ? at : null,
      })
      .execute()
    return name
  }
  const object = async (columns: object = {}): Promise<string> => {
    const key = randomUUID()
    await db
      .insertInto('wake_up')
      .values({ queue: 'demo', key, ...columns })
      .execute()
    return key
  }
  const idle = await object()
  const gone = [
    await effect(idle, 'done'),
    await effect(idle, 'failed'),
    await effect(randomUUID(), 'done'),
  ]
  const carriedKey = await object()
  const carrying = await make({ target: randomUUID(), days: 900, status: 'running' })
  await db
    .updateTable('operation')
    .set({ queue: 'demo', queue_key: carriedKey })
    .where('id', '=', carrying)
    .execute()
  const kept = [
    await effect(idle, 'unknown'),
    await effect(idle, 'done', 700),
    await effect(await object({ failures: 1 }), 'failed'),
    await effect(await object({ crashes: 1 }), 'done'),
    await effect(await object({ owner: 'another process' }), 'done'),
    await effect(carriedKey, 'done'),
  ]
  expect((await remove()).effects).toBe(3)
  const { rows } = await sql<{ name: string }>`select name from effect`.execute(db)
  const names = new Set(rows.map(({ name }) => name))
  expect(kept.filter((name) => !names.has(name))).toEqual([])
  expect(gone.filter((name) => names.has(name))).toEqual([])
})

test('a process that ends between two slices leaves nothing half removed, and the next run goes on', async () => {
  const target = await buildServer(backend)
  const ids: string[] = []
  // More than two slices. The connection is lost in the second.
  for (let n = 0; n < 450; n++)
    ids.push(await make({ target, days: 2_000 - n, name: n === 300 ? 'ends-here' : 'other' }))
  await sql`create function end_here() returns trigger language plpgsql as $$ begin perform pg_terminate_backend(pg_backend_pid()); return old; end $$`.execute(
    db,
  )
  await sql`create trigger end_here before delete on operation for each row when (old.target_name = 'ends-here') execute function end_here()`.execute(
    db,
  )
  await expect(remove()).rejects.toSatisfy(isDatabaseAway)
  const half = await left(ids)
  expect(half.size).toBeGreaterThan(200)
  expect(half.size).toBeLessThan(450)
  const { rows } = await sql<{ alone: number }>`
    select count(*)::int as alone from operation o where not exists (select from operation_step s where s.operation_id = o.id)`.execute(
    db,
  )
  expect(rows[0]!.alone).toBe(0)
  await sql`drop trigger end_here on operation`.execute(db)
  await remove()
  expect(await left(ids)).toEqual(new Set([ids.at(-1)]))
})
