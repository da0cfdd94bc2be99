/** SQL for the history. The entries are written by `history.ts`. */
import { type RawBuilder, type Selectable, sql, type SqlBool } from 'kysely'
import { history, type historyList } from '#contract/history/history.ts'
import type { HistoryObject, HistoryValues, kindsOfState } from '#contract/history/kinds.ts'
import type { Input } from '#contract/operation.ts'
import type { OperationKind } from '#contract/operations.ts'
import type { Db, Tx } from '../../db/db.ts'
import { narrowed, type SqlReaders } from '../../db/list.ts'
import type { Tables } from '../../db/tables.gen.ts'

type On = Db | Tx
export type HistoryRow = Omit<Selectable<Tables['history']>, 'log'> & {
  readonly has_log: boolean
  readonly operation_kind: OperationKind | null
}
/** A place in the history: of the entry before it. */
export interface Place {
  readonly at: Date
  readonly id: number
}

/**
 * Each word of the search begins a word of the entry. A quoted text in a query of PostgreSQL is
 * split into words as the entries are; in it, only quotes and backslashes have a meaning.
 */
const wordsIn = (q: string): RawBuilder<SqlBool> =>
  sql<SqlBool>`to_tsvector('simple', history.message || ' ' || history.object_name || ' ' || coalesce(history.cluster_name, '') || ' ' || history.actor_name) @@ to_tsquery('simple', ${q
    .split(/\s+/)
    .filter((word) => word !== '')
    .map((word) => `'${word.replaceAll(/['\\]/g, String.raw`\$&`)}':*`)
    .join(' & ')})`

const readers: Pick<SqlReaders<typeof history>, 'search' | 'filters'> = {
  filters: {
    kind: (kind) => sql`history.kind = ${kind}`,
    about: (kind) => sql`history.object_kind = ${kind}`,
    object: (id) => sql`history.object_id = ${id}`,
    cluster: (id) => sql`history.cluster_id = ${id}`,
    by: (name) => sql`(history.actor_name = ${name} or history.requested_by = ${name})`,
    since: (at) => sql`history.at >= ${new Date(at)}`,
    until: (at) => sql`history.at < ${new Date(at)}`,
  },
  search: wordsIn,
}

const entries = (on: On) =>
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

/**
 * The next entries after a place in the order of the query. `objects`: the kinds of objects that the reader may
 * see; null for all.
 */
export function pageQuery(
  on: On,
  query: Input<typeof historyList>['query'],
  {
    after,
    objects,
    limit,
  }: { after: Place | null; objects: readonly HistoryObject[] | null; limit: number },
) {
  const all = narrowed(entries(on), history, readers, query)
  const seen =
    objects === null
      ? all
      : all.where('history.object_kind', '=', sql<HistoryObject>`any(${objects}::text[])`)
  const [direction, beyond] =
    query.sort === 'at' ? (['asc', sql`>`] as const) : (['desc', sql`<`] as const)
  const rest =
    after === null
      ? seen
      : seen.where(sql<SqlBool>`(history.at, history.id) ${beyond} (${after.at}, ${after.id})`)
  return rest.orderBy('history.at', direction).orderBy('history.id', direction).limit(limit)
}

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

export const basesOf = (tx: Tx, ids: readonly string[]): Promise<Base[]> =>
  tx
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
