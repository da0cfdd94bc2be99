/**
 * SQL for a page of the history. A page is read by an index in its order, and reads a bounded number
 * of entries, however many are kept: where few of them match, it ends before it is full, and says
 * down to which time it has read.
 */
import { type RawBuilder, sql, type SqlBool } from 'kysely'
import type { history, historyList } from '#contract/history/history.ts'
import type { HistoryObject } from '#contract/history/kind-names.ts'
import type { Input } from '#contract/operation.ts'
import type { Tx } from '../../db/db.ts'
import type { SqlReaders } from '../../db/list.ts'
import { entries, type HistoryRow } from './store.ts'

type Query = Input<typeof historyList>['query']
/** A place in the history: of the entry before it. */
export interface Place {
  readonly at: Date
  readonly id: number
}

interface PageOf {
  readonly after: Place | null
  /** The kinds of objects that the reader may see; null for all. */
  readonly objects: readonly HistoryObject[] | null
  readonly limit: number
}

interface Page {
  readonly rows: HistoryRow[]
  /** The last entry that was read, if the page ends there although older ones may match. */
  readonly readTo: Place | null
}

/** Entries that are read in their order for a page, by each index, to find those that match. */
export const mostInOrder = 20_000
/** Entries with the words of a search that are found at once, whenever they were written. */
export const mostFound = 10_000

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

type Condition = RawBuilder<SqlBool>
type Filters = keyof SqlReaders<typeof history>['filters']
const conditions: Readonly<Record<Filters | 'q', (asked: string) => Condition>> = {
  q: wordsIn,
  kind: (kind) => sql`history.kind = ${kind}`,
  about: (kind) => sql`history.object_kind = ${kind}`,
  object: (id) => sql`history.object_id = ${id}`,
  cluster: (id) => sql`history.cluster_id = ${id}`,
  by: (name) => sql`(history.actor_name = ${name} or history.requested_by = ${name})`,
  since: (at) => sql`history.at >= ${new Date(at)}`,
  until: (at) => sql`history.at < ${new Date(at)}`,
}
const times = ['since', 'until'] as const
const conditionsOf = (query: Query, of: readonly (Filters | 'q')[]): Condition[] =>
  of.flatMap((key) => (query[key] === undefined ? [] : [conditions[key](query[key])]))
const otherThan = (...answered: readonly string[]): (Filters | 'q')[] =>
  (Object.keys(conditions) as (Filters | 'q')[]).filter((key) => !answered.includes(key))
const all = (of: readonly Condition[]): Condition =>
  of.length === 0 ? sql`true` : sql<SqlBool>`${sql.join(of, sql` and `)}`

type Column = 'object_id' | 'cluster_id' | 'actor_name' | 'requested_by' | 'kind' | 'object_kind'
/**
 * The columns by whose index entries are found. They are also sorted by them, though they are the
 * same in all: PostgreSQL could otherwise go through the newest entries of everything instead, in
 * the hope that some match, which takes long if the last that match are old.
 */
interface Lead {
  readonly columns: Readonly<Partial<Record<Column, string>>>
  /** The filters that it answers. */
  readonly answers: readonly Filters[]
}

/** The indexes by which the page is read. Together they leave nothing out. */
function leadsOf(query: Query, objects: PageOf['objects']): readonly Lead[] {
  const { object, cluster, by, kind, about } = query
  const everything: Lead = { columns: {}, answers: [] }
  const ofKind = (is: string): Lead => ({ columns: { object_kind: is }, answers: ['about'] })
  const withKind = (column: Column, is: string, answers: readonly Filters[]): Lead =>
    kind === undefined
      ? { columns: { [column]: is }, answers }
      : { columns: { [column]: is, kind }, answers: [...answers, 'kind'] }
  if (object !== undefined) return [withKind('object_id', object, ['object'])]
  // An entry of a cluster that is about a cluster is about this one.
  if (cluster !== undefined && about === 'cluster')
    return [withKind('object_id', cluster, ['cluster', 'about'])]
  if (cluster !== undefined) return [withKind('cluster_id', cluster, ['cluster'])]
  if (by !== undefined)
    return [
      { columns: { actor_name: by }, answers: ['by'] },
      { columns: { requested_by: by }, answers: ['by'] },
    ]
  if (kind !== undefined) return [{ columns: { kind }, answers: ['kind'] }]
  // Most entries are about servers: these have no index of their own.
  if (about !== undefined) return about === 'server' ? [everything] : [ofKind(about)]
  return objects === null || objects.includes('server') ? [everything] : objects.map(ofKind)
}

const mayBeSeen = (objects: PageOf['objects']): Condition[] =>
  objects === null ? [] : [sql`history.object_kind = any(${objects}::text[])`]
const beyond = (after: Place | null, isOldestFirst: boolean): Condition[] =>
  after === null
    ? []
    : [sql`(history.at, history.id) ${isOldestFirst ? sql`>` : sql`<`} (${after.at}, ${after.id})`]

interface Read {
  readonly found: readonly Place[]
  /** The last entry that was read, if there are more than may be read. */
  readonly cut: Place | null
}

type Settings = Readonly<Record<string, string>>
/**
 * Settings of PostgreSQL's planner under which the number of entries that a statement reads doesn't
 * depend on its estimates. Entries come from an index in their order, so that a limit ends the read.
 */
export const indexOnly: Settings = {
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  enable_sort: 'off',
  max_parallel_workers_per_gather: '0',
  // Older versions add to the cost of what is off, above which they would compile.
  jit: 'off',
}
/**
 * The index of words is used first: a plan that bets on finding words soon would read everything if
 * they are at the other end. With enough memory PostgreSQL notes entries, not blocks, all of whose
 * entries it would have to read.
 */
const wordsFirst: Settings = {
  enable_bitmapscan: 'on',
  enable_indexscan: 'off',
  enable_indexonlyscan: 'off',
  enable_sort: 'on',
  work_mem: '64MB',
}
/** Changes settings until the end of the transaction. */
export const plan = (tx: Tx, settings: Settings) =>
  sql`select ${sql.join(
    Object.entries(settings).map(
      ([name, value]) => sql`set_config(${sql.lit(name)}, ${sql.lit(value)}, true)`,
    ),
  )}`.execute(tx)

/**
 * The condition that a column has this value, written so that PostgreSQL still sorts by the column.
 * The first column of an index is compared with `any`. The second is compared with `like`, without
 * wildcards: an index answers it as well, while before version 17 `any` of a later column keeps the
 * index from being read in its order.
 */
const isLed = ([column, is]: readonly [Column, string], at: number): Condition =>
  at === 0
    ? sql`history.${sql.ref(column)} = any(array[${is}]${column.endsWith('_id') ? sql`::uuid[]` : sql`::text[]`})`
    : sql`history.${sql.ref(column)} like ${is.replaceAll(/[\\%_]/g, String.raw`\$&`)}`

/** Goes through the entries of an index in their order, and finds the first that match. */
async function inOrder(
  tx: Tx,
  query: Query,
  { after, objects, limit }: PageOf,
  { columns, answers }: Lead,
): Promise<Read> {
  const isOldestFirst = query.sort === 'at'
  const leads = Object.entries(columns) as [Column, string][]
  const [along, against] = isOldestFirst ? [sql`asc`, sql`desc`] : [sql`desc`, sql`asc`]
  const order = sql.join([
    ...leads.map(([column]) => sql`history.${sql.ref(column)} ${against}`),
    sql`history.at ${along}`,
    sql`history.id ${along}`,
  ])
  const isRead = all([
    ...leads.map(isLed),
    // The condition of the index.
    ...(columns.object_kind === undefined ? [] : [sql<SqlBool>`history.object_kind <> 'server'`]),
    ...conditionsOf(query, times),
    ...beyond(after, isOldestFirst),
  ])
  const rest = [...conditionsOf(query, otherThan(...answers, ...times)), ...mayBeSeen(objects)]
  const { rows: found } = await sql<Place>`
    select history.id, history.at
    from (select * from history where ${isRead} order by ${order} limit ${rest.length === 0 ? limit : mostInOrder}) as history
    where ${all(rest)} order by ${order} limit ${limit}`.execute(tx)
  if (found.length >= limit || rest.length === 0) return { found, cut: null }
  const { rows: last } = await sql<Place>`
    select history.id, history.at from history where ${isRead} order by ${order} offset ${mostInOrder - 1} limit 1`.execute(
    tx,
  )
  return { found, cut: last[0] ?? null }
}

/**
 * The entries that match a search, if few entries have its words, in the order of the query. Null if
 * many have them: an index finds words, but not in the order of time.
 */
async function withRareWords(
  tx: Tx,
  query: Query & { readonly q: string },
  { after, objects, limit }: PageOf,
): Promise<Place[] | null> {
  await plan(tx, wordsFirst)
  const { rows: having } = await sql<{ id: number }>`
    select id from history where ${wordsIn(query.q)} limit ${mostFound + 1}`.execute(tx)
  if (having.length > mostFound) return null
  const isOldestFirst = query.sort === 'at'
  const along = isOldestFirst ? sql`asc` : sql`desc`
  const { rows } = await sql<Place>`
    with having_words as materialized (select * from history where id = any(${having.map(({ id }) => id)}::bigint[]))
    select id, at from having_words as history where ${all([
      ...conditionsOf(query, otherThan('q')),
      ...mayBeSeen(objects),
      ...beyond(after, isOldestFirst),
    ])} order by at ${along}, id ${along} limit ${limit}`.execute(tx)
  return rows
}

/** The next entries after a place in the order of the query. */
export async function page(tx: Tx, query: Query, of: PageOf): Promise<Page> {
  const sign = query.sort === 'at' ? 1 : -1
  const compare = (a: Place, b: Place): number =>
    sign * (a.at.getTime() - b.at.getTime() || a.id - b.id)
  // All statements see the same entries: the page ends where its first statement ended.
  await sql`set transaction isolation level repeatable read`.execute(tx)
  await plan(tx, indexOnly)
  const reads: Read[] = []
  for (const lead of leadsOf(query, of.objects)) reads.push(await inOrder(tx, query, of, lead))
  const cut = reads.flatMap((read) => read.cut ?? []).toSorted(compare)[0]
  // A change by a person in an operation of theirs is found by two indexes.
  let found: readonly Place[] = [
    ...new Map(reads.flatMap((read) => read.found.map((place) => [place.id, place]))).values(),
  ]
    .filter((place) => cut === undefined || compare(place, cut) <= 0)
    .toSorted(compare)
    .slice(0, of.limit)
  let readTo = found.length < of.limit ? (cut ?? null) : null
  if (readTo !== null && query.q !== undefined) {
    const rare = await withRareWords(tx, { ...query, q: query.q }, of)
    if (rare !== null) [found, readTo] = [rare, null]
  }
  // Without an order: under these settings an index in this order would be gone through for it.
  const rows = await entries(tx)
    .where('history.id', '=', sql<number>`any(${found.map(({ id }) => id)}::bigint[])`)
    .execute()
  return { rows: rows.toSorted(compare), readTo }
}
