/**
 * Reads a list's search params by the list's declaration. A URL may contain anything: values that
 * the contract rejects stay in the URL but are not sent.
 */
import {
  type AnyList,
  choicesOf,
  filtersOf,
  type ListFilter,
  type ListQuery,
  longestFilterText,
  longestSearch,
  narrowingKeys,
  sortKeys,
  viewKeys,
} from '#contract/list.ts'
import { longestSelector } from '#contract/labels/selector.ts'
import type { Operation } from '#contract/operation.ts'
import type { SavedView } from '#contract/people/preferences.ts'

export type ListSearch = Readonly<Record<string, string | undefined>>
export type ListOf<L extends AnyList> = Operation & { readonly list: L }

/** Page sizes that are offered. */
export const pageSizes = [5, 10, 25, 50, 100, 1000] as const
/** The sizes that the list can have. */
export const pageSizesOf = ({ mostPerPage }: Pick<AnyList, 'mostPerPage'>): number[] =>
  pageSizes.filter((size) => size <= mostPerPage)

function passes(filter: ListFilter, value: string): boolean {
  if (filter.range) return value.length <= longestFilterText && filter.range.accepts(value.trim())
  // The server refuses a selector that can't be read, and says why.
  if (filter.syntax) return value.length <= longestSelector
  if (filter.schema) return !('issues' in filter.schema['~standard'].validate(value))
  return (
    choicesOf(filter)?.some(([choice]) => choice === value) ??
    value.trim().length <= longestFilterText
  )
}

/**
 * Keeps the search params that the contract accepts. Follows the rules of the call's schema,
 * because pages don't load schemas.
 */
function taken(list: AnyList, search: ListSearch): Record<string, string> {
  const { q, sort } = search
  const filters = filtersOf(list).map(
    ([key, filter]) => [key, search[key], (value: string) => passes(filter, value)] as const,
  )
  const orders: readonly string[] = sortKeys(list)
  const all = [
    ['q', q?.slice(0, longestSearch), () => true] as const,
    ...filters,
    [
      'sort',
      sort,
      (value: string) => orders.some((key) => value === key || value === `-${key}`),
    ] as const,
  ]
  return Object.fromEntries(
    all.flatMap(([key, value, accepts]) =>
      value !== undefined && accepts(value) ? [[key, value]] : [],
    ),
  )
}

/** The search text and the filters of the request. */
export const narrowingOf = <L extends AnyList>(
  operation: ListOf<L>,
  search: ListSearch,
): Partial<ListQuery<L>> =>
  taken(operation.list, { ...search, sort: undefined }) as Partial<ListQuery<L>>

/** The order of the request. */
export const takenOrder = (list: AnyList, { sort }: ListSearch): { sort?: string } =>
  taken(list, { sort })

/** The query of the request for a URL's search params. */
export function askedOf<L extends AnyList>(operation: ListOf<L>, search: ListSearch): ListQuery<L> {
  const { page = '', size } = search
  return {
    ...taken(operation.list, search),
    page: /^[1-9]\d{0,5}$/.test(page) ? Number(page) : 1,
    per_page:
      pageSizesOf(operation.list).find((one) => String(one) === size) ?? operation.list.perPage,
  } as ListQuery<L>
}

export const isNarrowed = (list: AnyList, search: ListSearch): boolean =>
  narrowingKeys(list).some((key) => search[key] !== undefined)
/**
 * The change of search params that removes text, filters and page number. Order and page size stay.
 */
export const widened = (list: AnyList): Record<string, undefined> =>
  Object.fromEntries(['page', ...narrowingKeys(list)].map((key) => [key, undefined]))

/** The part of a search that a saved view stores: what is set of order, text, filters and group. */
export const viewOf = (list: AnyList, search: ListSearch): SavedView['search'] =>
  Object.fromEntries(viewKeys(list).flatMap((key) => (search[key] ? [[key, search[key]]] : [])))

/** Whether two views are equal, in any order of keys. */
export function sameView(a: SavedView['search'], b: SavedView['search']): boolean {
  const keys = Object.keys(a)
  return keys.length === Object.keys(b).length && keys.every((key) => a[key] === b[key])
}

/**
 * The change of search params that shows a view from its first page: params that the view doesn't
 * have are removed, also the row or group that is open.
 */
export const showing = (list: AnyList, view: SavedView['search']): ListSearch => ({
  ...Object.fromEntries(['page', 'open', ...viewKeys(list)].map((key) => [key, undefined])),
  ...view,
})
