import type { QueryClient } from '@tanstack/react-query'
import type { SetSearch } from '../lib/router.ts'
import type { ParamsOf, RouteId, SearchOf } from '../lib/routes.ts'

export interface PageProps<Id extends RouteId> {
  params: ParamsOf<Id>
  search: SearchOf<Id>
  setSearch: SetSearch<SearchOf<Id>>
}

/** Fetches a page's data. Starts before the page renders. */
export type Load<Id extends RouteId> = (input: {
  params: ParamsOf<Id>
  search: SearchOf<Id>
  client: QueryClient
}) => Promise<unknown>

/** Exports of a page's file. */
export interface PageModule<Id extends RouteId> {
  load?: Load<Id>
  Page: (props: PageProps<Id>) => React.ReactNode
}
