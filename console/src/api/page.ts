import type { QueryClient } from '@tanstack/react-query'
import type { AnyRoute, RegisteredRouter, RouteById, RouteIds } from '@tanstack/react-router'

type Routes = RegisteredRouter['routeTree']
/** Id of a route, such as "/infra/servers/$id/": an index route ends in a slash. */
type RouteId = RouteIds<Routes>

export type ParamsOf<Route extends AnyRoute> = Route['types']['allParams']
export type SearchOf<Route extends AnyRoute> = Route['types']['fullSearchSchema']

/** New values of some of a page's search params; undefined or '' removes a param. */
type Change<Search> = { [Key in keyof Search]?: string | undefined }
export type SetSearch<Search> = (change: Change<Search>, how?: { push?: boolean }) => void

/** Exports of a page's file. `load` starts before the page renders. */
export interface PageModule<Route extends AnyRoute> {
  load?: (input: { params: ParamsOf<Route>; search: SearchOf<Route>; client: QueryClient }) => Promise<unknown>
  Page: (props: { params: ParamsOf<Route>; search: SearchOf<Route>; setSearch: SetSearch<SearchOf<Route>> }) => React.ReactNode
}

export type Load<Id extends RouteId> = NonNullable<PageModule<RouteById<Routes, Id>>['load']>
export type PageProps<Id extends RouteId> = Parameters<PageModule<RouteById<Routes, Id>>['Page']>[0]
