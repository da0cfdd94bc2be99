import { QueryClient, queryOptions } from '@tanstack/react-query'
import type { Answer, Operation } from '#contract/operation.ts'
import { whenSessionEnds } from './auth.ts'
import { call } from './client.ts'
import { type Ask, isUndecided } from './http.ts'

/** First part of a query's key: the operation's name; the server list's is `servers`, as specified. */
export const keyOf = (operation: Pick<Operation, 'name'>): string => (operation.name === 'serverList' ? 'servers' : operation.name)

/** Query key = [operation name, what was asked]: so `invalidate(client, datacenterList)` reaches every page and filter of a list. */
export const query = <O extends Operation>(operation: O, asked: Ask<O> = {}) =>
  queryOptions<Answer<O>>({ queryKey: [keyOf(operation), asked], queryFn: ({ signal }) => call(operation, asked, signal) })

export const invalidate = (client: QueryClient, ...operations: Pick<Operation, 'name'>[]): Promise<unknown> =>
  Promise.all(operations.map((o) => client.invalidateQueries({ queryKey: [keyOf(o)] })))

/** `failures` counts those before this one. */
export const retryQuery = (failures: number, error: unknown): boolean => failures < 1 && isUndecided(error)

/** Queries retry once where there was no answer, 5xx or 429, and don't refetch on focus, as specified; what was refused is not asked again. What live events keep true is fresh for half a minute anyway. */
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

// What one person has seen is not for the next.
whenSessionEnds(() => queryClient.clear())
