import { QueryClient, queryOptions } from '@tanstack/react-query'
import type { Answer, Operation } from '#contract/operation.ts'
import { whenSessionEnds } from './auth.ts'
import { call } from './client.ts'
import { type Ask, isUndecided } from './http.ts'

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
export const retryQuery = (failures: number, error: unknown): boolean =>
  failures < 1 && isUndecided(error)

/**
 * As specified, queries retry once after no response, 5xx or 429, and don't refetch on focus.
 * Refused calls are not retried. Live events keep the data up to date, so it counts as fresh for 30
 * s.
 */
export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      retry: retryQuery,
      retryDelay: 800,
      refetchOnWindowFocus: false,
      staleTime: 30_000,
      gcTime: 10 * 60_000,
      networkMode: 'always',
    },
    mutations: { networkMode: 'always' },
  },
})

// The next user must not see the previous user's data.
whenSessionEnds(() => queryClient.clear())
