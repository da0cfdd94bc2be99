/** SQL for the history. The entries are written by `history.ts`; `store-pages.ts` reads pages. */
import { type Selectable, sql } from 'kysely'
import type { HistoryValues, kindsOfState } from '#contract/history/kinds.ts'
import type { OperationKind } from '#contract/operations.ts'
import type { Db, Tx } from '../../db/db.ts'
import type { Tables } from '../../db/tables.gen.ts'

export type On = Db | Tx
export type HistoryRow = Omit<Selectable<Tables['history']>, 'log'> & {
  readonly has_log: boolean
  readonly operation_kind: OperationKind | null
}
/** Entries without the lines of logs. */
export const entries = (on: On) =>
  on
    .selectFrom('history')
    .leftJoin('operation', 'operation.id', 'history.operation_id')
    .select([
      'history.id',
      'history.at',
      'history.kind',
      'history.object_kind',
      'history.object_id',
      'history.object_name',
      'history.cluster_id',
      'history.cluster_name',
      'history.actor_kind',
      'history.actor_name',
      'history.operation_id',
      'history.requested_by',
      'history.message',
      'history.simulated',
      'history.before',
      'history.after',
      'operation.kind as operation_kind',
      sql<boolean>`history.log is not null`.as('has_log'),
    ])

export const find = (on: On, id: number) =>
  entries(on).select('history.log').where('history.id', '=', id).executeTakeFirst()

type Kept = keyof typeof kindsOfState
export interface Base {
  readonly object_kind: Kept
  readonly object_id: string
  readonly state: HistoryValues
}

/** The states before the first entries that are kept. */
export const bases = (on: On): Promise<Base[]> =>
  on.selectFrom('history_base').select(['object_kind', 'object_id', 'state']).execute()

export type Step = Pick<
  HistoryRow,
  'id' | 'at' | 'kind' | 'object_kind' | 'object_id' | 'after' | 'simulated'
>

/** All entries up to a time, in the order in which they were written, but no simulated ones. */
export const upTo = (on: On, at: Date): Promise<Step[]> =>
  on
    .selectFrom('history')
    .select(['id', 'at', 'kind', 'object_kind', 'object_id', 'after', 'simulated'])
    .where('at', '<=', at)
    .where('simulated', '=', false)
    .orderBy('id')
    .execute()

/** The oldest entries, in the order in which they were written. */
export const oldest = (on: On, limit: number): Promise<Step[]> =>
  on
    .selectFrom('history')
    .select(['id', 'at', 'kind', 'object_kind', 'object_id', 'after', 'simulated'])
    .orderBy('id')
    .limit(limit)
    .execute()

/** The last time before which entries were removed; null if none were. */
export const lastBase = async (on: On): Promise<Date | null> =>
  (
    await on
      .selectFrom('history_base')
      .select(sql<Date | null>`max(at)`.as('at'))
      .executeTakeFirstOrThrow()
  ).at

export interface Extent {
  readonly since: Date
  readonly first: number | null
  readonly last: number | null
  readonly oldest_at: Date | null
}

/** When Steelyard began to keep a history, and the first and last number of its entries. */
export async function beginning(on: On): Promise<Extent> {
  const { rows } =
    await sql<Extent>`select (select run_at from migration where name = 'history') as since,
    (select min(id) from history) as first, (select max(id) from history) as last,
    (select at from history order by at, id limit 1) as oldest_at`.execute(on)
  return rows[0]!
}

export const basesOf = (on: On, ids: readonly string[]): Promise<Base[]> =>
  on
    .selectFrom('history_base')
    .select(['object_kind', 'object_id', 'state'])
    .where('object_id', '=', sql<string>`any(${ids}::uuid[])`)
    .execute()

export async function putBases(tx: Tx, changed: readonly Base[], at: Date): Promise<void> {
  await sql`insert into history_base (object_kind, object_id, at, state)
    select b.object_kind, b.object_id, ${at}, b.state
    from json_to_recordset(${JSON.stringify(changed)}) as b (object_kind text, object_id uuid, state jsonb)
    on conflict (object_kind, object_id) do update set at = excluded.at, state = excluded.state`.execute(
    tx,
  )
}
export const dropBases = (tx: Tx, ids: readonly string[]) =>
  tx
    .deleteFrom('history_base')
    .where('object_id', '=', sql<string>`any(${ids}::uuid[])`)
    .execute()

export const remove = (tx: Tx, upToId: number) =>
  tx.deleteFrom('history').where('id', '<=', upToId).execute()

/** How much is kept. The numbers of the entries have no large gaps, so they give their count. */
export async function kept(on: On) {
  const { rows } = await sql<{
    first: number | null
    last: number | null
    oldest_at: Date | null
    bytes: number
  }>`select (select min(id) from history) as first, (select max(id) from history) as last,
    (select at from history order by at, id limit 1) as oldest_at,
    pg_total_relation_size('history') + pg_total_relation_size('history_base') as bytes`.execute(on)
  const { first, last, oldest_at, bytes } = rows[0]!
  return { entries: first === null || last === null ? 0 : last - first + 1, oldest_at, bytes }
}
