/** Pages of a declared list from the database: each of its sort keys and filters has its SQL, or the program does not compile. */
import { type Expression, type RawBuilder, type SelectQueryBuilder, sql, type SqlBool } from 'kysely'
import { type AnyList, filterKeys, type FilterKey, type FilterValue, type ListQuery, orderOf, type PlainQuery, type SortKey } from '#contract/list.ts'
import { likePattern } from './db.ts'

export interface SqlReaders<L extends AnyList> {
  readonly sort: { readonly [K in SortKey<L>]: RawBuilder<unknown> }
  readonly filters: { readonly [K in FilterKey<L>]: (wanted: FilterValue<L, K>) => Expression<SqlBool> }
  readonly search: (q: string) => Expression<SqlBool>
  /** Orders rows that are equal by the sort key. */
  readonly tie: RawBuilder<unknown>
  /** Rows without a value come last in both directions; an index serves only the order that PostgreSQL has by itself. */
  readonly nullsLast?: true
}

/** The search by a text that one of these columns contains. */
export const containing =
  (...columns: readonly string[]) =>
  (q: string): RawBuilder<SqlBool> =>
    sql<SqlBool>`(${sql.join(
      columns.map((column) => sql`${sql.ref(column)} ilike ${likePattern(q)}`),
      sql` or `,
    )})`

/** Narrows rows by the search and the filters of a query. */
export function narrowed<L extends AnyList, DB, TB extends keyof DB, O>(
  from: SelectQueryBuilder<DB, TB, O>,
  list: L,
  { search, filters }: Pick<SqlReaders<L>, 'search' | 'filters'>,
  query: Partial<ListQuery<L>>,
): SelectQueryBuilder<DB, TB, O> {
  const { q, ...asked } = query as Readonly<Record<string, string | undefined>>
  const wanted = filterKeys(list).flatMap((key) => (asked[key] === undefined ? [] : [(filters[key] as (value: string) => Expression<SqlBool>)(asked[key])]))
  return [...(q ? [search(q)] : []), ...wanted].reduce((rows, condition) => rows.where(condition), from)
}

/** One page of the rows that match, and how many match on all pages. */
export async function readPage<L extends AnyList, DB, TB extends keyof DB, O>(
  from: SelectQueryBuilder<DB, TB, O>,
  list: L,
  readers: SqlReaders<L>,
  query: ListQuery<L>,
): Promise<{ rows: O[]; total: number }> {
  const { sort, page, per_page } = query as unknown as PlainQuery
  const { key, direction } = orderOf(list, sort)
  const matching = narrowed(from, list, readers, query)
  const [rows, count] = await Promise.all([
    matching
      .orderBy(sql`${readers.sort[key]} ${sql.raw(direction)} ${sql.raw(readers.nullsLast ? 'nulls last' : '')}`)
      .orderBy(readers.tie)
      .limit(per_page)
      .offset((page - 1) * per_page)
      .execute(),
    matching
      .clearSelect()
      .select(sql<number>`count(*)::int`.as('n'))
      .executeTakeFirstOrThrow(),
  ])
  return { rows, total: (count as unknown as { n: number }).n }
}
