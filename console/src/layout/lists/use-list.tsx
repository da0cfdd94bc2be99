import type { UseQueryResult } from '@tanstack/react-query'
import { type ComponentProps, type ReactNode, Suspense } from 'react'
import {
  type AnyList,
  choicesOf,
  type FreeFilter,
  filtersOf as declaredFilters,
  type ItemOf,
  noValue,
  tableOf,
} from '#contract/list.ts'
import type { Page } from '#contract/page.ts'
import { useTablePreferences } from '../../api/preferences.ts'
import { isNarrowed, type ListSearch, pageSizesOf, widened } from '../../lib/list-search.ts'
import type { SetSearch } from '../../lib/router.ts'
import { sentence } from '../../lib/text.ts'
import { Stale } from '../../ui/feedback/States.tsx'
import { Search } from '../../ui/inputs/Search.tsx'
import type { Column } from '../../ui/table/DataTable.tsx'
import { ActiveFilters, Filters, type OneFilter } from '../../ui/table/Filters.tsx'
import { Pager } from '../../ui/table/Pager.tsx'
import { later } from '../../ui/part.tsx'
import { View } from './View.tsx'

export type SetListSearch = SetSearch<ListSearch>

/** State of a list's toolbar and table, as given by the URL. Define `columns` at module scope. */
export function useList<L extends AnyList>(
  list: L,
  columns: readonly Column<ItemOf<L>>[],
  { search, setSearch }: { search: ListSearch; setSearch: SetListSearch },
  { data, error, isRefetchError, dataUpdatedAt, refetch }: UseQueryResult<Page<ItemOf<L>>>,
) {
  const [one, many]: AnyList['nouns'] = list.nouns
  const { shown, setShown } = useTablePreferences(tableOf(list))
  /** Changes the order or a filter, and goes back to the first page. */
  const set = (change: ListSearch) => setSearch({ page: undefined, ...change })
  const sort: string = search['sort'] ?? list.order
  const total = data?.total ?? 0
  const onRetry = () => void refetch()
  const filtered = isNarrowed(list, search)
  const foot = total > 0 && (
    <Pager
      page={data?.page ?? 1}
      perPage={data?.per_page ?? list.perPage}
      total={total}
      plural={total === 1 ? one : many}
      onPage={(to) => setSearch({ page: to === 1 ? undefined : String(to) }, { push: true })}
      sizes={pageSizesOf(list)}
      onPerPage={(n) => set({ size: n === list.perPage ? undefined : String(n) })}
    />
  )
  const table = {
    label: sentence(many),
    noun: one,
    rows: data?.items,
    columns,
    sort,
    onSort: (next: string) => set({ sort: next }),
    shown,
    filtered,
    onReset: () => setSearch(widened(list)),
    error,
    onRetry,
    notice: isRefetchError && <Stale at={dataUpdatedAt} error={error} onRetry={onRetry} />,
    onFirstPage: total > 0 && (() => set({})),
    foot,
  }
  /** No items exist yet, and no filter is set: the page then shows how to begin. */
  const isEmpty = data?.total === 0 && !filtered
  const isLoading = data === undefined && error === null
  return {
    list,
    search,
    setSearch,
    set,
    columns,
    sort,
    shown,
    setShown,
    total,
    isEmpty,
    isLoading,
    table,
  }
}
export type ListState<L extends AnyList> = ReturnType<typeof useList<L>>

const OpenSharedView = later(() => import('./OpenSharedView.tsx'))
const LabelSelector = later(() => import('../labels/LabelSelector.tsx'))
const Selector = (props: ComponentProps<typeof LabelSelector>) => (
  <Suspense fallback={null}>
    <LabelSelector {...props} />
  </Suspense>
)

type Options = OneFilter['options']

/**
 * The filters of a list. A filter without choices offers `options[key]` or, if that is missing,
 * only the value in the URL.
 */
function filtersOf(
  { list, search, set }: Pick<ListState<AnyList>, 'list' | 'search' | 'set'>,
  options: Readonly<Record<string, Options>>,
): OneFilter[] {
  return declaredFilters(list).flatMap(([key, filter]) => {
    const value = search[key] ?? ''
    const choices = choicesOf(filter)?.map(([choice, words]) => ({
      value: choice,
      text: words ?? sentence(choice),
    }))
    const offered = choices ?? options[key] ?? (value === '' ? [] : [{ value, text: value }])
    const { none } = filter
    return {
      label: filter.label,
      value,
      options: none === undefined ? offered : [{ value: noValue, text: none }, ...offered],
      range: filter.range,
      form: filter.syntax && ((onValue) => <Selector of={list.nouns[0]} {...{ value, onValue }} />),
      onValue: (next) => set({ [key]: next }),
    }
  })
}

interface ListToolbarProps<L extends AnyList> {
  state: ListState<L>
  placeholder: string
  /** The values offered by each filter that has no choices of its own. */
  options: Readonly<Record<FreeFilter<L>, Options>>
  /** Called when the user opens the filters. */
  onFilters?: () => void
  /** Whether views of the list can be saved. */
  saves?: boolean
  children: ReactNode
}

/**
 * The toolbar of a list: search, filters, how it is shown, and the page's own buttons, of which one
 * is primary and at most one is quiet.
 */
export function ListToolbar<L extends AnyList>({
  state,
  placeholder,
  options,
  onFilters,
  saves = true,
  children,
}: ListToolbarProps<L>) {
  const { list, search, set, isLoading } = state
  const [, many]: AnyList['nouns'] = list.nouns
  const filters = filtersOf(state, options)
  const { view } = search
  return (
    <div className="toolbar">
      <Suspense>{view && <OpenSharedView state={state} id={view} />}</Suspense>
      <Search
        label={`Search ${many}`}
        placeholder={placeholder}
        value={search['q'] ?? ''}
        onValue={(q) => set({ q })}
      />
      <Filters filters={filters} onOpen={onFilters} />
      <View state={state} saves={saves} />
      <span className="row right">
        {/* An empty list has them elsewhere, and a click on one that moves would be lost. */}
        <span style={{ display: 'contents', ...(isLoading && { visibility: 'hidden' }) }}>
          {children}
        </span>
      </span>
      <ActiveFilters filters={filters} />
    </div>
  )
}
