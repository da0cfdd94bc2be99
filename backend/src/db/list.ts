/**
 * Reads pages of the contract's lists from the database. A sort key or filter without SQL is a
 * compile error.
 */
import {
  type Expression,
  type RawBuilder,
  type SelectQueryBuilder,
  sql,
  type SqlBool,
} from 'kysely'
import {
  type AnyList,
  type FilterKey,
  filtersOf,
  type FilterValue,
  type ListQuery,
  orderOf,
  type SortKey,
} from '#contract/list.ts'
import { selectorOf } from '#contract/labels/selector.ts'
import { readRange } from '#contract/marketplace/range.ts'
import { likePattern } from './db.ts'

export interface SqlReaders<L extends AnyList> {
  readonly sort: { readonly [K in SortKey<L>]: RawBuilder<unknown> }
  readonly filters: {
    readonly [K in FilterKey<L>]: (wanted: FilterValue<L, K>) => Expression<SqlBool>
  }
  readonly search: (q: string) => Expression<SqlBool>
  /** Orders rows with equal sort keys. */
  readonly tie: RawBuilder<unknown>
  /**
   * Rows without a value come last in both directions. No index provides this order: PostgreSQL's
   * default is nulls last ascending, nulls first descending.
   */
  readonly nullsLast?: true
}

/** A search that matches rows with the text in any of these columns. */
export const containing =
  (...columns: readonly (string | RawBuilder<unknown>)[]) =>
  (q: string): RawBuilder<SqlBool> =>
    sql<SqlBool>`(${sql.join(
      columns.map(
        (column) =>
          sql`${typeof column === 'string' ? sql.ref(column) : column} ilike ${likePattern(q)}`,
      ),
      sql` or `,
    )})`

/** The SQL of a decimal number. */
export const exactly = (text: string): RawBuilder<unknown> => sql`${text}::numeric`

/**
 * A filter by a range of numbers. `lower` and `upper`: the SQL of a limit from its text, if the
 * column isn't `numeric` and its index is to be used.
 */
export function within(
  column: RawBuilder<unknown>,
  range: string,
  lower = exactly,
  upper = lower,
): RawBuilder<SqlBool> {
  const { least, most } = readRange(range)!
  const limits = [
    ...(least === null ? [] : [sql`${column} >= ${lower(least)}`]),
    ...(most === null ? [] : [sql`${column} <= ${upper(most)}`]),
  ]
  return sql<SqlBool>`(${sql.join(limits, sql` and `)})`
}

/** A filter by labels. `column`: an object of JSON with the labels. */
export const labelled = (column: RawBuilder<unknown>, selector: string): RawBuilder<SqlBool> =>
  sql<SqlBool>`(${sql.join(
    selectorOf(selector)!.map(({ key, values, not }) => {
      const holds =
        values === null
          ? sql`jsonb_exists(${column}, ${key})`
          : sql`coalesce(${column} ->> ${key} = any(${[...values]}::text[]), false)`
      return not ? sql`not ${holds}` : holds
    }),
    sql` and `,
  )})`

/** Narrows rows by the search and the filters of a query. */
export function narrowed<L extends AnyList, DB, TB extends keyof DB, O>(
  from: SelectQueryBuilder<DB, TB, O>,
  list: L,
  { search, filters }: Pick<SqlReaders<L>, 'search' | 'filters'>,
  query: Partial<ListQuery<L>>,
): SelectQueryBuilder<DB, TB, O> {
  const { q, ...asked } = query as Readonly<Record<string, string | undefined>>
  const wanted = filtersOf(list).flatMap(([key]) =>
    asked[key] === undefined
      ? []
      : [(filters[key] as (value: string) => Expression<SqlBool>)(asked[key])],
  )
  return [...(q ? [search(q)] : []), ...wanted].reduce(
    (rows, condition) => rows.where(condition),
    from,
  )
}

/** One page of the matching rows, and the number of matching rows on all pages. */
export async function readPage<L extends AnyList, DB, TB extends keyof DB, O>(
  from: SelectQueryBuilder<DB, TB, O>,
  list: L,
  readers: SqlReaders<L>,
  query: ListQuery<L>,
): Promise<{ rows: O[]; total: number }> {
  const { sort, page, per_page } = query
  const { key, direction } = orderOf(list, sort)
  const matching = narrowed(from, list, readers, query)
  const [rows, count] = await Promise.all([
    matching
      .orderBy(
        sql`${readers.sort[key]} ${sql.raw(direction)} ${sql.raw(readers.nullsLast ? 'nulls last' : '')}`,
      )
      .orderBy(readers.tie)
      .limit(per_page)
      .offset((page - 1) * per_page)
      .execute(),
    matching
      .clearSelect()
      .select(sql<number>`count(*)::int`.as('n'))
      .$castTo<{ n: number }>()
      .executeTakeFirstOrThrow(),
  ])
  return { rows, total: count.n }
}
