/**
 * Each list is declared once, with its columns, sort keys and filters. The API's query, the
 * console's URL, table and filter bar, and the CLI's flags and table follow from the declaration.
 * In the backend, a sort key or filter without code to read its value does not compile.
 */
import * as z from 'zod/mini'
import type { Large } from './bounds/rows.ts'
import { longestSelector, selectorOf, selectorSentence } from './labels/selector.ts'
import { type Operation, operation } from './operation.ts'
import { type Page, pageOf, wholeInQuery } from './page.ts'

/** Null: the item has no value, or the value is unknown. */
export type Value = string | number | null

export interface ListColumn<Item> {
  readonly label: string
  /** Explanation of the label. */
  readonly help?: string
  /**
   * How `value` is shown; text by default. word: an identifier of the contract (`control_plane`).
   * memory: bytes, in binary units. disk: bytes, in decimal units. time: ISO 8601.
   */
  readonly kind?: 'text' | 'word' | 'mono' | 'number' | 'memory' | 'disk' | 'time'
  /** Whether the column's key is a sort key. */
  readonly sort?: true
  /** The column is hidden until a user turns it on. */
  readonly hidden?: true
  /**
   * Reads the value from an item. A column without `value` needs its own cell wherever the list is
   * shown.
   */
  readonly value?: (item: Item) => Value
}

/**
 * How a filter treats its value, which is a range of numbers. Part of the declaration, so that only
 * pages with such a filter load the code.
 */
export interface RangeFilter {
  /** Shown beside the numbers; may be empty. */
  readonly unit: string
  readonly accepts: (text: string) => boolean
  /** Says what a range is, if `accepts` refuses the text. */
  readonly sentence: string
  /** The range in words: "32–64", "32 or more". Other text is returned unchanged. */
  readonly shown: (text: string) => string
  /** Whether the number is in the range that the text names. */
  readonly holds: (text: string, value: number) => boolean
}

export interface ListFilter {
  readonly label: string
  /** Help text that names the items that pass the filter: "Only …". */
  readonly help: string
  /** The allowed values, or a map from each to its label. Without choices, any text is allowed. */
  readonly choices?: readonly string[] | Readonly<Record<string, string>>
  /** The value is a range of decimal numbers such as `10..20`, as `inRange` declares it. */
  readonly range?: RangeFilter
  /** The value has a syntax of its own. labels: a selector such as `rack=3,gen!=r640`. */
  readonly syntax?: 'labels'
  /**
   * Label of the value `none`, which the items pass that have no value: "In no rack". An object that
   * is called none is named by its id.
   */
  readonly none?: string
  /** Schema of the text. Default: trimmed, at most 40 characters. */
  readonly schema?: z.ZodMiniType<string, string>
  /** Placeholder of the value in the CLI's help, such as CODE. */
  readonly placeholder?: string
  /** Name of the CLI's option, if the key isn't a good name for an option. */
  readonly flag?: string
  /** One letter, for a short form of the CLI's option. */
  readonly short?: string
}

type Columns<Item> = Readonly<Record<string, ListColumn<Item>>>
type None = { readonly [K in never]: never }
type Filters = Readonly<Record<string, ListFilter>>
type Sorts<C> = {
  [K in keyof C & string]: C[K] extends { readonly sort: true } ? K : never
}[keyof C & string]
/** A sort key, descending with a leading minus. */
export type Order<S extends string> = S | `-${S}`

export interface List<Item, C extends Columns<Item> = Columns<Item>, F extends Filters = Filters> {
  /** The noun in singular and plural. */
  readonly nouns: readonly [one: string, many: string]
  readonly columns: C
  readonly filters: F
  /** The default order. */
  readonly order: Order<Sorts<C>>
  readonly perPage: number
  /** Largest number of rows of a page: a page has at most `mostListBytes`. */
  readonly mostPerPage: number
  /**
   * Filters by whose values the items can be grouped. If they have labels, they can also be grouped
   * by the values of a label.
   */
  readonly groups?: readonly string[]
  /** Large fields of the rows, each with the value that stands for what is left out. */
  readonly large?: Large
}
/**
 * Any declared list. The item type is `never`, because functions that take an item, such as
 * `value`, are contravariant.
 */
export interface AnyList extends Omit<List<never>, 'order'> {
  readonly order: string
}

export type ItemOf<L extends AnyList> =
  L extends List<infer Item, infer _C, infer _F> ? Item : never
export type ColumnKey<L extends AnyList> = keyof L['columns'] & string
export type SortKey<L extends AnyList> = Sorts<L['columns']>
export type FilterKey<L extends AnyList> = keyof L['filters'] & string
/**
 * Filters with neither `choices`, `range` nor `syntax`. The console's page must supply the options of their
 * menus.
 */
export type FreeFilter<L extends AnyList> = {
  [K in FilterKey<L>]: L['filters'][K] extends
    | { readonly choices: unknown }
    | { readonly range: unknown }
    | { readonly syntax: unknown }
    ? never
    : K
}[FilterKey<L>]
/** Columns without `value`. */
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
export type FilterValue<L extends AnyList, K extends FilterKey<L>> = FilterText<L['filters'][K]> &
  string

/**
 * Declares a list in two calls, `list<Item>()({…})`: the first names the item's type, so that
 * TypeScript infers columns and filters from the second.
 */
export const list =
  <Item>() =>
  <const C extends Columns<Item>, const F extends Filters = None>(declared: {
    nouns: List<Item>['nouns']
    columns: C
    filters?: F
    order: NoInfer<Order<Sorts<C>>>
    perPage?: number
    mostPerPage?: number
    groups?: readonly NoInfer<keyof F & string>[]
    large?: { readonly [K in keyof Item]?: Item[K] }
  }): List<Item, C, F> => ({ perPage: 50, mostPerPage: 1000, filters: {} as F, ...declared })

/** Largest page of a list, in bytes of JSON. */
export const mostListBytes = 8 * 1024 * 1024

export const sortKeys = <L extends AnyList>(of: L): SortKey<L>[] =>
  Object.entries(of.columns).flatMap(([key, { sort }]) => (sort ? [key as SortKey<L>] : []))
export const filtersOf = <L extends AnyList>(of: L) =>
  Object.entries(of.filters) as [key: FilterKey<L>, filter: ListFilter][]

/** Name of a list in preferences and shared views. */
export const tableOf = ({ nouns: [, many] }: AnyList): string => many.replaceAll(' ', '-')
/** Names of the search text and the filters. */
export const narrowingKeys = (of: AnyList): string[] => ['q', ...filtersOf(of).map(([key]) => key)]
/** Names of what a view stores: search text, filters, order and what the list is grouped by. */
export const viewKeys = (of: AnyList): string[] => [
  ...narrowingKeys(of),
  'sort',
  ...(of.groups ? ['group'] : []),
]

/** Value of a filter that the items pass which have no value. */
export const noValue = 'none'

/** The help text of a filter with what `none` means. */
export const helpOf = ({ help, none }: ListFilter): string =>
  none === undefined ? help : `${help} (${noValue}: ${none.toLowerCase()})`

/** The allowed values of a filter with their labels; undefined if any text is allowed. */
export function choicesOf({
  choices,
}: ListFilter): [value: string, words: string | undefined][] | undefined {
  if (choices === undefined) return undefined
  return Array.isArray(choices)
    ? choices.map((value: string) => [value, undefined])
    : Object.entries(choices)
}

/** Longest text of a filter without choices or schema. */
export const longestFilterText = 40
const shortText = z.string().check(z.trim(), z.maxLength(longestFilterText))
const rangeText = ({ accepts, sentence }: RangeFilter) =>
  shortText.check(z.refine(accepts, { error: sentence }))
const selectorText = () =>
  z.string().check(
    z.trim(),
    z.maxLength(longestSelector),
    z.refine((text) => selectorOf(text) !== null, { error: selectorSentence }),
  )
const schemaOf = (filter: ListFilter) => {
  const choices = choicesOf(filter)
  return z.optional(
    filter.schema ??
      (choices
        ? z.enum(choices.map(([value]) => value))
        : filter.range
          ? rangeText(filter.range)
          : filter.syntax
            ? selectorText()
            : shortText),
  )
}

type Shape = Readonly<Record<string, z.core.$ZodType>>
type TextType<T extends string> = z.ZodMiniOptional<z.ZodMiniType<T, T>>
type QueryShape<L extends AnyList> = {
  q: TextType<string>
  sort: TextType<Order<SortKey<L>>>
  page: z.ZodMiniDefault<ReturnType<typeof wholeInQuery>>
  per_page: z.ZodMiniDefault<ReturnType<typeof wholeInQuery>>
} & { [K in FilterKey<L>]: TextType<FilterValue<L, K>> }

/** Longest search text. */
export const longestSearch = 200
const search = z.optional(z.string().check(z.trim(), z.maxLength(longestSearch)))
/** Schema shape of the search and the filters. */
export function narrowingOf<L extends AnyList>(
  of: L,
): Omit<QueryShape<L>, 'sort' | 'page' | 'per_page'> {
  const shape: Shape = {
    q: search,
    ...Object.fromEntries(filtersOf(of).map(([key, filter]) => [key, schemaOf(filter)])),
  }
  return shape as QueryShape<L>
}

/** Schema of the order. */
export const sortOf = <L extends AnyList>(of: L): TextType<Order<SortKey<L>>> =>
  z.optional(z.enum(sortKeys(of).flatMap((key) => [key, `-${key}`]))) as unknown as TextType<
    Order<SortKey<L>>
  >

/** Schema shape of the whole query. */
function queryOf<L extends AnyList>(of: L): QueryShape<L> {
  const shape: Shape = {
    sort: sortOf(of),
    page: z._default(wholeInQuery(1, 1_000_000), 1),
    per_page: z._default(wholeInQuery(1, of.mostPerPage), of.perPage),
    ...narrowingOf(of),
  }
  return shape as QueryShape<L>
}

/** The parsed query of a list: the output of `queryOf`. */
export type ListQuery<L extends AnyList> = {
  q?: string | undefined
  sort?: Order<SortKey<L>> | undefined
  page: number
  per_page: number
} & { [K in FilterKey<L>]?: FilterValue<L, K> | undefined }
type Declared = Pick<Operation, 'name' | 'summary' | 'path' | 'scope'> &
  Partial<Pick<Operation, 'errors'>>

/** Descriptions of the list's filters, for the documentation of its calls. */
export const meaningsOf = (of: AnyList): Readonly<Record<string, string>> =>
  Object.fromEntries(filtersOf(of).map(([key, filter]) => [key, `${helpOf(filter)}.`]))

/**
 * Declares the API call that returns a list in pages. `more`: query parameters that don't filter.
 */
export const listOperation = <
  L extends AnyList,
  A extends z.core.$ZodType,
  M extends Shape = None,
  P extends z.core.$ZodType = z.ZodMiniObject,
>(
  of: L,
  item: A,
  { name, path, scope, more, ...declared }: Declared & { more?: M; params?: P },
): Operation<
  P,
  z.ZodMiniObject<QueryShape<L> & M, z.core.$strict>,
  z.ZodMiniUndefined,
  ReturnType<typeof pageOf<A>>
> & { readonly list: L } => ({
  ...operation(name, `GET ${path}`, scope, {
    ...declared,
    query: z.strictObject({ ...queryOf(of), ...(more as M) }),
    answer: pageOf(item, of.large),
  }),
  meanings: meaningsOf(of),
  list: of,
})

/** The requested sort key and direction, or the list's default. */
export function orderOf<L extends AnyList>(
  of: L,
  sort: Order<SortKey<L>> | undefined,
): { key: SortKey<L>; direction: 'asc' | 'desc' } {
  const wanted: string = sort ?? of.order
  return wanted.startsWith('-')
    ? { key: wanted.slice(1) as SortKey<L>, direction: 'desc' }
    : { key: wanted as SortKey<L>, direction: 'asc' }
}

/** For lists in memory: reads the value of each sort key. */
export type SortReaders<L extends AnyList, Row> = {
  readonly [K in SortKey<L>]: (row: Row) => Value
}
/**
 * For lists in memory: whether a row passes each filter. For a filter by a range: the row's number,
 * or null if it is unknown, which is in no range.
 */
export type FilterReaders<L extends AnyList, Row> = {
  readonly [K in FilterKey<L>]: L['filters'][K] extends { readonly range: unknown }
    ? (row: Row) => number | null
    : (row: Row, wanted: FilterValue<L, K>) => boolean
}

/**
 * Compares rows by the sort key, then by `ties`, ascending. Rows without a value come last in both
 * directions.
 */
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

/** Returns a test for whether a row passes every requested filter. */
export function passing<L extends AnyList, Row>(
  of: L,
  readers: FilterReaders<L, Row>,
  query: Partial<ListQuery<L>>,
): (row: Row) => boolean {
  const asked = query as Readonly<Record<string, string | undefined>>
  const checks = filtersOf(of).flatMap(([key, { range }]) => {
    const wanted = asked[key]
    if (wanted === undefined) return []
    const read = readers[key] as (row: Row, wanted: string) => boolean | number | null
    return [
      (row: Row): boolean => {
        const found = read(row, wanted)
        return typeof found === 'number' ? range!.holds(wanted, found) : found === true
      },
    ]
  })
  return (row) => checks.every((passes) => passes(row))
}

/** Readers of a list in memory. `ties` order rows with equal sort keys, ascending. */
export interface MemoryReaders<L extends AnyList, Row> {
  readonly sort: SortReaders<L, Row>
  readonly filters: FilterReaders<L, Row>
  readonly search: (row: Row, lowerCase: string) => boolean
  readonly ties: readonly ((row: Row) => Value)[]
}

/** One page of a list that is held in memory. */
export function memoryPage<L extends AnyList, Row>(
  of: L,
  rows: readonly Row[],
  readers: MemoryReaders<L, Row>,
  query: ListQuery<L>,
): Page<Row> {
  const { q, sort, page, per_page } = query
  const wanted = q?.toLowerCase()
  const passes = passing(of, readers.filters, query)
  const matching = rows
    .filter((row) => (wanted === undefined || readers.search(row, wanted)) && passes(row))
    .toSorted(comparing(of, readers.sort, sort, readers.ties))
  return {
    items: matching.slice((page - 1) * per_page, page * per_page),
    page,
    per_page,
    total: matching.length,
  }
}
