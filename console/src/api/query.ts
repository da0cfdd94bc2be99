import {
  type FetchQueryOptions,
  type InvalidateOptions,
  type InvalidateQueryFilters,
  type QueryKey,
  type QueryState,
  QueryClient,
  queryOptions,
} from '@tanstack/react-query'
import type { Answer, Operation } from '#contract/operation.ts'
import { whenSessionEnds } from './auth.ts'
import { call } from './client.ts'
import { type Ask, CallError, isUndecided } from './http.ts'

/**
 * First part of a query key: the operation's name. The server list uses `servers`, as specified.
 */
export const keyOf = (operation: Pick<Operation, 'name'>): string =>
  operation.name === 'serverList' ? 'servers' : operation.name

/**
 * Query key = [operation name, input], so `invalidate(datacenterList)` reaches every page and
 * filter of a list.
 */
export const query = <O extends Operation>(operation: O, asked: Ask<O> = {}) =>
  queryOptions<Answer<O>>({
    queryKey: [keyOf(operation), asked],
    queryFn: ({ signal }) => call(operation, asked, signal),
  })

/** Marks the cached responses of these calls as stale and refetches those that are shown. */
export const invalidate = (...operations: Pick<Operation, 'name'>[]): Promise<unknown> =>
  Promise.all(operations.map((o) => queryClient.invalidateQueries({ queryKey: [keyOf(o)] })))

/** Whether to retry a failed query. `failures`: number of failures before this one. */
const retryQuery = (failures: number, error: unknown): boolean => failures < 1 && isUndecided(error)

/** How long data, and a refusal, counts as fresh, in ms. */
const freshMs = 30_000

/** Whether the server has decided against the call, so that nothing but a change helps. */
const isRefusal = ({ status, error }: QueryState): boolean =>
  status === 'error' && error instanceof CallError && !isUndecided(error)

/**
 * Asks again for everything that is shown, because events may have been missed. A refusal is not
 * asked for again: it stands until an event names what the call reads, or the user tries again.
 */
export const refetchAll = (client: QueryClient): Promise<void> =>
  client.invalidateQueries({ predicate: ({ state }) => !isRefusal(state) })

/** Asks again for what failed without a decision of the server. */
export const refetchFailed = (client: QueryClient): Promise<void> =>
  client.invalidateQueries({
    predicate: ({ state }) => state.status === 'error' && !isRefusal(state),
  })

/** Refusals of queries that have been invalidated since. */
const outdated = new WeakSet<Error>()

/**
 * Whether the call was refused a moment ago. A page asks for its data when the pointer rests on its
 * link, when it loads and when its parts are mounted: none of these repeats a refused call. "Try
 * again" does, and so does a change of what the call reads.
 */
const isRefused = (state: QueryState | undefined): boolean =>
  state !== undefined &&
  isRefusal(state) &&
  state.data === undefined &&
  !outdated.has(state.error!) &&
  Date.now() - state.errorUpdatedAt < freshMs

class Queries extends QueryClient {
  override fetchQuery<
    Data = unknown,
    Failure = Error,
    Selected = Data,
    Key extends QueryKey = QueryKey,
    Page = never,
  >(options: FetchQueryOptions<Data, Failure, Selected, Key, Page>): Promise<Selected> {
    const state = this.getQueryCache().get(this.defaultQueryOptions(options).queryHash)?.state
    return isRefused(state) ? Promise.reject(state?.error) : super.fetchQuery(options)
  }

  override invalidateQueries<Key extends QueryKey = QueryKey>(
    filters?: InvalidateQueryFilters<Key>,
    options?: InvalidateOptions,
  ): Promise<void> {
    for (const { state } of this.getQueryCache().findAll(filters))
      if (state.error !== null) outdated.add(state.error)
    return super.invalidateQueries(filters, options)
  }
}

/**
 * As specified, queries retry once after no response, 5xx or 429, and don't refetch on focus.
 * Refused calls are not retried. Live events keep the data up to date, so it counts as fresh for 30
 * s.
 */
export const queryClient: QueryClient = new Queries({
  defaultOptions: {
    queries: {
      retry: retryQuery,
      retryDelay: 800,
      refetchOnWindowFocus: false,
      retryOnMount: ({ state }) => !isRefused(state),
      staleTime: freshMs,
      gcTime: 10 * 60_000,
      networkMode: 'always',
    },
    mutations: { networkMode: 'always' },
  },
})

// The next user must not see the previous user's data.
whenSessionEnds(() => queryClient.clear())
