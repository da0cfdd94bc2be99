/** SQL for operations and their steps. */
import { type Insertable, type RawBuilder, type Selectable, sql, type Updateable } from 'kysely'
import type { Input } from '#contract/operation.ts'
import { type Operation, operationList } from '#contract/operations.ts'
import type { Db, Tx } from '../../db/db.ts'
import { containing, readPage, type SqlReaders } from '../../db/list.ts'
import type { Tables } from '../../db/tables.gen.ts'
import { attempts, ends, haveEnded, requested } from './past.ts'
import { happened } from '../../history.ts'
import type { Work } from '../../engine/engine.ts'

/**
 * Without `arguments`, which may have megabytes (patches of many servers): `argumentsOf` reads them.
 */
export type OperationRow = Omit<Selectable<Tables['operation']>, 'arguments'>
export type StepRow = Selectable<Tables['operation_step']>

export interface Found<Row = OperationRow> {
  readonly row: Row
  readonly steps: readonly StepRow[]
}

export const columns = [
  'id',
  'kind',
  'target_kind',
  'target_id',
  'target_name',
  'scope',
  'status',
  'reason',
  'queue',
  'queue_key',
  'created_by',
  'created_by_name',
  'created_at',
  'started_at',
  'ended_at',
  'cancel_requested_at',
  'round',
  'version',
  'held_since',
  'starts_at',
  'in_window',
  'traceparent',
] as const satisfies readonly (keyof OperationRow)[]

/** Steps of a page that are read at once: a page may have a million, which would fill a turn. */
const portion = 5_000

export const withSteps = async <Row extends OperationRow>(
  db: Db | Tx,
  rows: readonly Row[],
  atOnce: number | null = null,
): Promise<Found<Row>[]> => {
  if (rows.length === 0) return []
  const byOperation = new Map(rows.map(({ id }) => [id, [] as StepRow[]]))
  const ids = [...byOperation.keys()]
  for (let last: StepRow | undefined; ;) {
    const steps = await db
      .selectFrom('operation_step')
      .selectAll()
      .where('operation_id', 'in', ids)
      .$if(last !== undefined, (q) =>
        q.where(sql<boolean>`(operation_id, key) > (${last!.operation_id}, ${last!.key})`),
      )
      .orderBy('operation_id')
      .orderBy('key')
      .$if(atOnce !== null, (q) => q.limit(atOnce!))
      .execute()
    for (const [id, more] of Map.groupBy(steps, (step) => step.operation_id))
      byOperation.set(
        id,
        [...byOperation.get(id)!, ...more].toSorted((a, b) => a.position - b.position),
      )
    last = steps.at(-1)
    if (atOnce === null || steps.length < atOnce) break
  }
  return rows.map((row) => ({ row, steps: byOperation.get(row.id)! }))
}

/** Open, and not waiting for its time or for the maintenance window (contract: `isScheduled`). */
const inProgress = sql<boolean>`(ended_at is null and (started_at is not null or (starts_at is null and not in_window)))`

const readers: SqlReaders<typeof operationList.list> = {
  sort: { created_at: sql`created_at` },
  filters: {
    status: (status) =>
      status === 'open'
        ? sql`ended_at is null`
        : status === 'in_progress'
          ? inProgress
          : sql`status = ${status}`,
    kind: (kind) => sql`kind = ${kind}`,
    target: (id) => sql`target_id = ${id}`,
    by: (email) => sql`created_by_name = ${email}`,
  },
  search: containing('target_name', 'created_by_name'),
  tie: sql`id`,
}

/**
 * Operations that the reader may see: those without a scope, or with one of the reader's scopes.
 */
const visible = (db: Db, scopes: readonly string[]) =>
  db
    .selectFrom('operation')
    .select(columns)
    .where((e) =>
      e.or([e('scope', 'is', null), ...(scopes.length > 0 ? [e('scope', 'in', scopes)] : [])]),
    )

/** `scopes`: the reader's scopes. */
export async function page(
  db: Db,
  query: Input<typeof operationList>['query'],
  scopes: readonly string[],
) {
  const { rows, total } = await readPage(visible(db, scopes), operationList.list, readers, query)
  return { rows: await withSteps(db, rows, portion), total }
}

export async function get(db: Db | Tx, id: string): Promise<Found | undefined> {
  const row = await db
    .selectFrom('operation')
    .select(columns)
    .where('id', '=', id)
    .executeTakeFirst()
  return row && (await withSteps(db, [row]))[0]
}

const openAt = (on: Db | Tx, { queue, key }: Work) =>
  on
    .selectFrom('operation')
    .select(columns)
    .where('queue', '=', queue)
    .where('queue_key', '=', key)
    .where('ended_at', 'is', null)
    .orderBy('created_at')
    .orderBy('id')

/** The oldest open operation of a queue's object. */
export async function carriedBy(on: Db | Tx, work: Work): Promise<Found | undefined> {
  const row = await openAt(on, work).executeTakeFirst()
  return row && (await withSteps(on, [row]))[0]
}

/** Every open operation of a queue's object, oldest first. */
export const allCarriedBy = async (on: Db | Tx, work: Work): Promise<Found[]> =>
  withSteps(on, await openAt(on, work).execute())

/** Removes an operation's steps. */
export const dropSteps = (tx: Tx, id: string) =>
  tx.deleteFrom('operation_step').where('operation_id', '=', id).execute()

/**
 * Average duration in seconds of the steps of earlier operations on a cluster, by the prefix of the
 * steps' keys.
 */
export async function durations(
  on: Db | Tx,
  clusterId: string,
): Promise<ReadonlyMap<string, number>> {
  const prefix = sql<string>`split_part(s.key, '/', 1)`
  const rows = await on
    .selectFrom('operation_step as s')
    .innerJoin('operation as o', 'o.id', 's.operation_id')
    .select([
      prefix.as('prefix'),
      sql<number>`avg(extract(epoch from s.ended_at - s.started_at))::float8`.as('seconds'),
    ])
    .where('o.target_kind', '=', 'cluster')
    .where('o.target_id', '=', clusterId)
    .where('s.status', '=', 'done')
    .groupBy(prefix)
    .execute()
  return new Map(rows.map((r) => [r.prefix, r.seconds]))
}

export const state = (on: Db | Tx, id: string) =>
  on
    .selectFrom('operation')
    .select(['kind', 'status', 'round', 'cancel_requested_at'])
    .where('id', '=', id)
    .executeTakeFirst()

export const argumentsOf = (on: Db | Tx, id: string) =>
  on.selectFrom('operation').select(['kind', 'arguments']).where('id', '=', id).executeTakeFirst()

export const amend = (tx: Tx, id: string, fields: object) =>
  tx
    .updateTable('operation')
    .set({ arguments: sql`coalesce(arguments, '{}') || ${JSON.stringify(fields)}::jsonb` })
    .where('id', '=', id)
    .execute()

export const byId = (on: Db | Tx, id: string) =>
  on.selectFrom('operation').select(columns).where('id', '=', id).executeTakeFirst()

export const lock = (tx: Tx, id: string) =>
  tx.selectFrom('operation').select(columns).where('id', '=', id).forUpdate().executeTakeFirst()

export async function insert(
  tx: Tx,
  row: Omit<Insertable<Tables['operation']>, 'reason'>,
): Promise<OperationRow> {
  const inserted = await tx
    .insertInto('operation')
    .values({ ...row, reason: null })
    .returning(columns)
    .executeTakeFirstOrThrow()
  happened(tx, ...requested(inserted))
  return inserted
}

/** @param from position of the first step */
export const insertSteps = async (
  tx: Tx,
  operation_id: string,
  steps: readonly {
    readonly key: string
    readonly title: string
    readonly node_id?: string | null
  }[],
  from: number,
): Promise<void> => {
  const rows = steps.map(({ key, title, node_id = null }, i) => ({
    operation_id,
    key,
    position: from + i,
    title,
    node_id,
    reason: null,
  }))
  if (rows.length > 0) await tx.insertInto('operation_step').values(rows).execute()
}

export async function update(
  tx: Tx,
  id: string,
  change: Updateable<Tables['operation']>,
): Promise<OperationRow> {
  const row = await tx
    .updateTable('operation')
    .set({ ...change, version: sql<number>`version + 1` })
    .where('id', '=', id)
    .returning(columns)
    .executeTakeFirstOrThrow()
  happened(tx, ...ends(row, change))
  return row
}

export const steps = (tx: Tx, id: string, keys: readonly string[]) =>
  tx
    .selectFrom('operation_step')
    .selectAll()
    .where('operation_id', '=', id)
    .where('key', '=', sql<string>`any(${keys}::text[])`)
    .execute()

/**
 * Overwrites the stored steps with the given ones, matched by key. `before`: the steps that are
 * overwritten.
 */
export async function updateSteps(
  tx: Tx,
  id: string,
  rows: readonly StepRow[],
  before: readonly StepRow[],
): Promise<void> {
  await sql`update operation_step as s
    set status = n.status, title = n.title, node_id = n.node_id, reason = n.reason, attempt = n.attempt, started_at = n.started_at, ended_at = n.ended_at
    from json_populate_recordset(null::operation_step, ${JSON.stringify(rows)}) as n where s.operation_id = ${id} and s.key = n.key`.execute(
    tx,
  )
  if (haveEnded(rows, before)) happened(tx, ...attempts((await byId(tx, id))!, rows, before))
}

export const updateStep = (
  tx: Tx,
  id: string,
  key: string,
  change: Updateable<Tables['operation_step']>,
) =>
  tx
    .updateTable('operation_step')
    .set(change)
    .where('operation_id', '=', id)
    .where('key', '=', key)
    .execute()

/** Reopens failed steps. */
export const reopenSteps = (tx: Tx, id: string) =>
  tx
    .updateTable('operation_step')
    .set({ status: 'todo', reason: null, started_at: null, ended_at: null })
    .where('operation_id', '=', id)
    .where('status', '=', 'failed')
    .execute()

/** Marks the steps that are not done as skipped. */
export const skipSteps = (tx: Tx, id: string, reason: string | null, at: Date) =>
  tx
    .updateTable('operation_step')
    .set({ status: 'skipped', reason, ended_at: at })
    .where('operation_id', '=', id)
    .where('status', 'in', ['todo', 'running', 'waiting'])
    .execute()

/** Held operations, optionally only of objects whose keys begin with these ids. */
export function heldOf(on: Db | Tx, subjects?: readonly string[]): Promise<OperationRow[]> {
  const held = on
    .selectFrom('operation')
    .select(columns)
    .where('held_since', 'is not', null)
    .where('ended_at', 'is', null)
    .orderBy('created_at')
  return (
    subjects === undefined
      ? held
      : held.where(sql<string>`split_part(queue_key, '/', 1)`, 'in', ['', ...subjects])
  ).execute()
}

export const openOf = (
  db: Db | Tx,
  kind: Operation['target']['kind'],
  id: string,
): Promise<OperationRow[]> =>
  db
    .selectFrom('operation')
    .select(columns)
    .where('target_kind', '=', kind)
    .where('target_id', '=', id)
    .where('ended_at', 'is', null)
    .orderBy('created_at')
    .execute()

/** Open operations with one of these queues and keys. */
export const openOn = (tx: Tx, objects: readonly Work[]) =>
  tx
    .selectFrom('operation')
    .select('id')
    .where('ended_at', 'is', null)
    .where((e) => e.or(objects.map(({ queue, key }) => e.and({ queue, queue_key: key }))))
    .orderBy('id')
    .forUpdate()
    .execute()

/** The same without a lock, oldest first. */
export const openWith = (on: Db | Tx, objects: readonly Work[]) =>
  on
    .selectFrom('operation')
    .select(['id', 'kind', 'target_name'])
    .where('ended_at', 'is', null)
    .where((e) => e.or(objects.map(({ queue, key }) => e.and({ queue, queue_key: key }))))
    .orderBy('created_at')
    .orderBy('id')
    .execute()

/** The oldest open operation with one of these queues and keys, and the trace that it continues. */
export const originOf = (on: Db, objects: readonly Work[]) =>
  on
    .selectFrom('operation')
    .select(['id as operationId', 'kind', 'traceparent'])
    .where('ended_at', 'is', null)
    .where((e) => e.or(objects.map(({ queue, key }) => e.and({ queue, queue_key: key }))))
    .orderBy('created_at')
    .orderBy('id')
    .limit(1)
    .executeTakeFirst()

/**
 * Whether an open operation carries the row `w` of `wake_up`, itself or as one of its servers.
 * @param perServer queues of operations, with the queue of their servers, whose keys are
 * `<operation's key>/<server's id>`
 */
export const carried = (
  perServer: ReadonlyMap<string, string>,
): RawBuilder<boolean> => sql<boolean>`exists (
  select from operation o left join json_to_recordset(${JSON.stringify([...perServer].map(([whole, each]) => ({ whole, each })))}) as p (whole text, each text) on p.whole = o.queue
  where o.ended_at is null and ((o.queue = w.queue and o.queue_key = w.key) or (p.each = w.queue and starts_with(w.key, o.queue_key || '/'))))`

export async function recent(
  db: Db,
  which: 'running' | 'failed',
  scopes: readonly string[],
  limit: number,
) {
  const rows = await (
    which === 'running'
      ? visible(db, scopes).where(inProgress).orderBy('created_at', 'desc')
      : visible(db, scopes).where('status', '=', 'failed').orderBy('ended_at', 'desc')
  )
    .orderBy('id')
    .limit(limit)
    .execute()
  return withSteps(db, rows)
}
