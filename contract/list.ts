/**
 * A list is declared once: columns, sort keys, filters. The API's query, the console's URL state, table heads and filter bar, and the CLI's flags and table
 * follow from the declaration; the readers on the server are typed by it, so that a key without a reader does not compile.
 */
import * as z from 'zod/mini'
import { type Operation, operation } from './operation.ts'
import { type Page, pageOf, wholeInQuery } from './page.ts'

/** Null: the item has none, or it is not known. */
export type Value = string | number | null

export interface ListColumn<Item> {
  readonly label: string
  /** Explains the label. */
  readonly help?: string
  /** How `value` is written; text by default. A word is of the contract (`control_plane`); memory and disk are bytes, in binary and in decimal units; a time is ISO 8601. */
  readonly kind?: 'text' | 'word' | 'mono' | 'number' | 'memory' | 'disk' | 'time'
  /** The column's key is a sort key. */
  readonly sort?: true
  /** Shown only where somebody asks for the column. */
  readonly hidden?: true
  /** The value in the item. A column without it needs a cell of its own wherever the list is shown. */
  readonly value?: (item: Item) => Value
}

export interface ListFilter {
  readonly label: string
  /** "Only …": what it leaves in the list. */
  readonly help: string
  /** The values that may be asked for, or each with its words for people. Without them, any text. */
  readonly choices?: readonly string[] | Readonly<Record<string, string>>
  /** What a text must be; by default it has at most 40 characters. */
  readonly schema?: z.ZodMiniType<string, string>
  /** Stands for the value in the CLI's help: CODE. */
  readonly value?: string
  /** The CLI's option, where the key doesn't read well as one. */
  readonly flag?: string
}

type Columns<Item> = Readonly<Record<string, ListColumn<Item>>>
type None = { readonly [K in never]: never }
type Filters = Readonly<Record<string, ListFilter>>
type Sorts<C> = { [K in keyof C & string]: C[K] extends { readonly sort: true } ? K : never }[keyof C & string]
/** A sort key, descending with a leading minus. */
export type Order<S extends string> = S | `-${S}`

export interface List<Item, C extends Columns<Item> = Columns<Item>, F extends Filters = Filters> {
  /** What an item is called, and several of them. */
  readonly nouns: readonly [one: string, many: string]
  readonly columns: C
  readonly filters: F
  /** The order where none is asked for. */
  readonly order: Order<Sorts<C>>
  readonly perPage: number
}
// Items are both read from and given to the declaration's functions, so only `any` stands for each of them.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type AnyList = List<any, any, any>

export type ItemOf<L extends AnyList> = L extends List<infer Item, infer _C, infer _F> ? Item : never
export type ColumnKey<L extends AnyList> = keyof L['columns'] & string
export type SortKey<L extends AnyList> = Sorts<L['columns']>
export type FilterKey<L extends AnyList> = keyof L['filters'] & string
/** Columns whose value can't be read from the item plainly. */
export type BareColumn<L extends AnyList> = {
  [K in ColumnKey<L>]: L['columns'][K] extends { readonly value: unknown } ? never : K
}[ColumnKey<L>]
type FilterText<F> = F extends { readonly schema: z.ZodMiniType<infer V> }
  ? V
  : F extends { readonly choices: readonly (infer V extends string)[] }
    ? V
    : F extends { readonly choices: infer Words }
      ? keyof Words & string
      : string
export type FilterValue<L extends AnyList, K extends FilterKey<L>> = FilterText<L['filters'][K]> & string

/** Declares a list. The functions name the type of their item: TypeScript infers which columns sort only where it need not infer that as well. */
export const list =
  <Item>() =>
  <const C extends Columns<Item>, const F extends Filters = None>(declared: {
    nouns: List<Item>['nouns']
    columns: C
    filters?: F
    order: NoInfer<Order<Sorts<C>>>
    perPage?: number
  }): List<Item, C, F> => ({ perPage: 50, filters: {} as F, ...declared })

export const sortKeys = <L extends AnyList>(of: L): SortKey<L>[] => Object.keys(of.columns).filter((key) => of.columns[key].sort) as SortKey<L>[]
export const filterKeys = <L extends AnyList>(of: L): FilterKey<L>[] => Object.keys(of.filters)

/** The values of a filter with their words; undefined where any text may be asked for. */
export function choicesOf({ choices }: ListFilter): [value: string, words: string | undefined][] | undefined {
  if (choices === undefined) return undefined
  return Array.isArray(choices) ? choices.map((value: string) => [value, undefined]) : Object.entries(choices)
}

const shortText = z.string().check(z.trim(), z.maxLength(40))
const schemaOf = (filter: ListFilter) => {
  const choices = choicesOf(filter)
  return z.optional(filter.schema ?? (choices ? z.enum(choices.map(([value]) => value)) : shortText))
}

type TextType<T extends string> = z.ZodMiniOptional<z.ZodMiniType<T, T>>
type QueryShape<L extends AnyList> = {
  q: TextType<string>
  sort: TextType<Order<SortKey<L>>>
  page: z.ZodMiniDefault<ReturnType<typeof wholeInQuery>>
  per_page: z.ZodMiniDefault<ReturnType<typeof wholeInQuery>>
} & { [K in FilterKey<L>]: TextType<FilterValue<L, K>> }

const search = z.optional(z.string().check(z.trim(), z.maxLength(200)))
/** What narrows a list, as a schema's shape: search and filters, which are exact. */
export const narrowingOf = <L extends AnyList>(of: L): Omit<QueryShape<L>, 'sort' | 'page' | 'per_page'> =>
  ({ q: search, ...Object.fromEntries(filterKeys(of).map((key) => [key, schemaOf(of.filters[key])])) }) as unknown as QueryShape<L>

/** The query of a list as a schema's shape. */
const queryOf = <L extends AnyList>(of: L): QueryShape<L> =>
  ({
    sort: z.optional(z.enum(sortKeys(of).flatMap((key) => [key, `-${key}`]))),
    page: z._default(wholeInQuery(1, 1_000_000), 1),
    per_page: z._default(wholeInQuery(1, 1000), of.perPage),
    ...narrowingOf(of),
  }) as unknown as QueryShape<L>

/** The part of a query that every list has, where the list isn't known. */
export interface PlainQuery {
  readonly q?: string | undefined
  readonly sort?: never
  readonly page: number
  readonly per_page: number
}

/** What a list is asked for, as the server gets it. */
export type ListQuery<L extends AnyList> = z.output<z.ZodMiniObject<QueryShape<L>>>

type Shape = Readonly<Record<string, z.core.$ZodType>>
type Declared = Pick<Operation, 'name' | 'summary' | 'path' | 'scope'> & Partial<Pick<Operation, 'errors'>>

/** The call that answers a list in pages. `more`: parameters of its query that filter nothing. */
export const listOperation = <L extends AnyList, A extends z.core.$ZodType, M extends Shape = None, P extends z.core.$ZodType = z.ZodMiniObject>(
  of: L,
  item: A,
  { more, path, ...declared }: Declared & { more?: M; params?: P },
): Operation<P, z.ZodMiniObject<QueryShape<L> & M, z.core.$strict>, z.ZodMiniUndefined, ReturnType<typeof pageOf<A>>> & { readonly list: L } => ({
  ...operation({ ...declared, route: `GET ${path}`, query: z.strictObject({ ...queryOf(of), ...(more as M) }), answer: pageOf(item) }),
  meanings: Object.fromEntries(filterKeys(of).map((key) => [key, `${of.filters[key].help}.`])),
  list: of,
})

/** The sort key and direction that are asked for, or else the list's own order. */
export function orderOf<L extends AnyList>(of: L, sort: Order<SortKey<L>> | undefined): { key: SortKey<L>; direction: 'asc' | 'desc' } {
  const wanted: string = sort ?? of.order
  return wanted.startsWith('-') ? { key: wanted.slice(1) as SortKey<L>, direction: 'desc' } : { key: wanted as SortKey<L>, direction: 'asc' }
}

/** Of a list in memory: the value of each sort key. */
export type SortReaders<L extends AnyList, Row> = { readonly [K in SortKey<L>]: (row: Row) => Value }
/** Of a list in memory: whether a row is left in the list by each filter. */
export type FilterReaders<L extends AnyList, Row> = { readonly [K in FilterKey<L>]: (row: Row, wanted: FilterValue<L, K>) => boolean }

/** Orders rows in memory; equal ones by `ties`, upwards. What has no value comes last in both directions. */
export function comparing<L extends AnyList, Row>(
  of: L,
  readers: SortReaders<L, Row>,
  sort: Order<SortKey<L>> | undefined,
  ties: readonly ((row: Row) => Value)[],
): (a: Row, b: Row) => number {
  const { key, direction } = orderOf(of, sort)
  const reads = [readers[key], ...ties]
  return (a, b) => {
    for (let i = 0; i < reads.length; i++) {
      const [x, y] = [reads[i]!(a), reads[i]!(b)]
      if (x === y) continue
      if (x === null) return 1
      if (y === null) return -1
      return x < y === (i === 0 && direction === 'desc') ? 1 : -1
    }
    return 0
  }
}

/** Whether a row passes every filter that is asked for. */
export function passing<L extends AnyList, Row>(of: L, readers: FilterReaders<L, Row>, query: Partial<ListQuery<L>>): (row: Row) => boolean {
  const asked = query as Readonly<Record<string, string | undefined>>
  const checks = filterKeys(of).flatMap((key) => {
    const [wanted, passes] = [asked[key], readers[key] as (row: Row, wanted: string) => boolean]
    return wanted === undefined ? [] : [(row: Row) => passes(row, wanted)]
  })
  return (row) => checks.every((passes) => passes(row))
}

/** How a list in memory is read: by `ties`, upwards, where rows are equal by the sort key. */
export interface MemoryReaders<L extends AnyList, Row> {
  readonly sort: SortReaders<L, Row>
  readonly filters: FilterReaders<L, Row>
  readonly search: (row: Row, lowerCase: string) => boolean
  readonly ties: readonly ((row: Row) => Value)[]
}

/** One page of a list that is in memory whole. */
export function memoryPage<L extends AnyList, Row>(of: L, rows: readonly Row[], readers: MemoryReaders<L, Row>, query: ListQuery<L>): Page<Row> {
  const { q, sort, page, per_page } = query as unknown as PlainQuery
  const wanted = q?.toLowerCase()
  const passes = passing(of, readers.filters, query as Partial<ListQuery<L>>)
  const matching = rows
    .filter((row) => (wanted === undefined || readers.search(row, wanted)) && passes(row))
    .toSorted(comparing(of, readers.sort, sort, readers.ties))
  return { items: matching.slice((page - 1) * per_page, page * per_page), page, per_page, total: matching.length }
}
