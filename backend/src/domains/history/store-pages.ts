/**
 * SQL for a page of the history. Each page is read by an index in its order, so that the rows that
 * are read depend on the page, not on how much is kept.
 */
import { type RawBuilder, sql, type SqlBool } from 'kysely'
import { history, type historyList } from '#contract/history/history.ts'
import type { HistoryObject } from '#contract/history/kinds.ts'
import type { Input } from '#contract/operation.ts'
import { narrowed, type SqlReaders } from '../../db/list.ts'
import { entries, type HistoryRow, type On } from './store.ts'

type Query = Input<typeof historyList>['query']
/** A place in the history: of the entry before it. */
export interface Place {
  readonly at: Date
  readonly id: number
}
/** Times of the first and the last entry. */
export interface Span {
  readonly first: Date
  readonly last: Date
}

interface PageOf {
  readonly after: Place | null
  /** The kinds of objects that the reader may see; null for all. */
  readonly objects: readonly HistoryObject[] | null
  readonly limit: number
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

type Rows = ReturnType<typeof entries>

type Filters = Exclude<keyof Query, 'sort' | 'after' | 'per_page' | 'q'>
/**
 * The column by whose index entries are found. They are also sorted by it, though it is the same in
 * all: PostgreSQL could otherwise go through the newest entries of everything instead, in the hope
 * that some match, which takes long if the last that match are old.
 */
interface Lead {
  readonly column:
    | 'object_id'
    | 'cluster_id'
    | 'actor_name'
    | 'requested_by'
    | 'kind'
    | 'object_kind'
  readonly is: string
  /** The filters that it answers. */
  readonly answers: readonly Filters[]
  readonly also?: RawBuilder<SqlBool>
}

/** The columns by whose indexes the page is read. Together they leave nothing out. */
function leadsOf(query: Query, objects: PageOf['objects']): readonly (Lead | null)[] {
  const { object, cluster, by, kind, about } = query
  const ofKind = (is: string): Lead => ({
    column: 'object_kind',
    is,
    answers: ['about'],
    // The condition of the index: most entries are about servers.
    also: sql`history.object_kind <> 'server'`,
  })
  if (object !== undefined) return [{ column: 'object_id', is: object, answers: ['object'] }]
  // An entry of a cluster that is about a cluster is about this one.
  if (cluster !== undefined && about === 'cluster')
    return [{ column: 'object_id', is: cluster, answers: ['cluster', 'about'] }]
  if (cluster !== undefined) return [{ column: 'cluster_id', is: cluster, answers: ['cluster'] }]
  if (by !== undefined)
    return [
      { column: 'actor_name', is: by, answers: ['by'] },
      {
        column: 'requested_by',
        is: by,
        answers: ['by'],
        also: sql`history.actor_name <> ${by}`,
      },
    ]
  if (kind !== undefined) return [{ column: 'kind', is: kind, answers: ['kind'] }]
  if (about !== undefined) return about === 'server' ? [null] : [ofKind(about)]
  return objects === null || objects.includes('server') ? [null] : objects.map(ofKind)
}

/** The matching entries after a place, in no order. `bound`: the end of the times to search. */
function rowsOf(
  on: On,
  query: Query,
  { after, objects }: PageOf,
  { lead = null, bound = null }: { lead?: Lead | null; bound?: Date | null },
): Rows {
  const isOldestFirst = query.sort === 'at'
  const asked = Object.fromEntries(
    Object.entries(query).filter(([key]) => lead?.answers.includes(key as Filters) !== true),
  ) as Query
  let found = narrowed(entries(on), history, readers, asked)
  if (lead !== null)
    found = found.where(
      sql<SqlBool>`${sql.ref(`history.${lead.column}`)} = any(array[${lead.is}]${lead.column.endsWith('_id') ? sql`::uuid[]` : sql`::text[]`})`,
    )
  if (lead?.also) found = found.where(lead.also)
  if (objects !== null)
    found = found.where('history.object_kind', '=', sql<HistoryObject>`any(${objects}::text[])`)
  if (after !== null) {
    const beyond = isOldestFirst ? sql`>` : sql`<`
    found = found.where(sql<SqlBool>`(history.at, history.id) ${beyond} (${after.at}, ${after.id})`)
  }
  return bound === null ? found : found.where('history.at', isOldestFirst ? '<=' : '>=', bound)
}

/**
 * Fractions of the kept time in which words are searched one after another, before all of it. An
 * index finds words, but not in the order of time: of a frequent word it would find the entries of
 * years. Going through the newest entries instead would take as long for a rare word.
 */
const fractions = [1 / 256, 1 / 16]

/**
 * The statements that read the next entries after a place in the order of the query. The page is
 * what the first statement returns that fills it, or the last statement.
 * @param span the times of the entries that are kept; null if there are none
 */
export function pageQueries(on: On, query: Query, page: PageOf, span: Span | null) {
  const isOldestFirst = query.sort === 'at'
  const direction = isOldestFirst ? 'asc' : 'desc'
  const inOrder = (rows: Rows, lead: Lead | null = null): Rows =>
    (lead === null ? rows : rows.orderBy(`history.${lead.column}`, isOldestFirst ? 'desc' : 'asc'))
      .orderBy('history.at', direction)
      .orderBy('history.id', direction)
      .limit(page.limit)
  /** Finds all rows before they are sorted, so that PostgreSQL doesn't bet on finding some soon. */
  const sorted = (rows: Rows) =>
    on
      .with(
        (cte) => cte('found').materialized(),
        () => rows,
      )
      .selectFrom('found')
      .selectAll()
      .orderBy('at', direction)
      .orderBy('id', direction)
      .limit(page.limit)
  if (query.q === undefined || span === null) {
    const reads = leadsOf(query, page.objects).map((lead) =>
      inOrder(rowsOf(on, query, page, { lead }), lead),
    )
    if (reads.length === 1) return reads
    const [first, ...others] = reads.map((rows) => on.selectFrom(rows.as('read')).selectAll())
    return [sorted(others.reduce((all, rows) => all.unionAll(rows), first!) as never as Rows)]
  }
  const within = (fraction: number): Rows =>
    rowsOf(on, query, page, { bound: boundOf(query, page, span, fraction) })
  const [soonest, ...later] = fractions
  return [
    inOrder(within(soonest!)),
    ...later.map((fraction) => sorted(within(fraction))),
    sorted(rowsOf(on, query, page, {})),
  ]
}

/** The end of a part of the kept time, which begins with the page. */
function boundOf(
  { sort, since, until }: Query,
  { after }: PageOf,
  { first, last }: Span,
  fraction: number,
): Date {
  const times = (...of: (Date | string | undefined)[]): number[] =>
    of.flatMap((time) => (time === undefined ? [] : new Date(time).getTime()))
  const lengthMs = (last.getTime() - first.getTime()) * fraction
  return sort === 'at'
    ? new Date(Math.max(...times(after?.at, since, first)) + lengthMs)
    : new Date(Math.min(...times(after?.at, until, last)) - lengthMs)
}

/** The times of the first and the last entry. */
async function spanOf(on: On): Promise<Span | null> {
  const ends = await Promise.all(
    (['asc', 'desc'] as const).map((direction) =>
      on
        .selectFrom('history')
        .select('at')
        .orderBy('at', direction)
        .orderBy('id', direction)
        .limit(1)
        .executeTakeFirst(),
    ),
  )
  const [first, last] = ends
  return first && last ? { first: first.at, last: last.at } : null
}

/** The next entries after a place in the order of the query. */
export async function page(on: On, query: Query, of: PageOf): Promise<HistoryRow[]> {
  const span = query.q === undefined ? null : await spanOf(on)
  let rows: HistoryRow[] = []
  for (const statement of pageQueries(on, query, of, span)) {
    rows = await statement.execute()
    if (rows.length >= of.limit) break
  }
  return rows
}
