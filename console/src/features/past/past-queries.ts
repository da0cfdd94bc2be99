/** What the pages of the past ask for. It doesn't change, so it is asked for once. */
import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { historyList } from '#contract/history/history.ts'
import type { Answer, Operation } from '#contract/operation.ts'
import { call } from '../../api/client.ts'
import { query } from '../../api/query.ts'
import { parseSearch, stringifySearch } from '../../lib/search.ts'
import { navigate, type Place } from '../../lib/router.ts'

/** Apart from what is now: an event of today changes nothing of it. */
export const pastQuery = <O extends Operation>(
  operation: O,
  asked: { readonly params?: object; readonly query: { readonly at: string } & object },
) =>
  queryOptions<Answer<O>>({
    queryKey: ['past', operation.name, asked],
    queryFn: ({ signal }) => call<Operation>(operation, asked, signal) as Promise<Answer<O>>,
    staleTime: Infinity,
    placeholderData: keepPreviousData,
  })

/** What began, ended or was requested in a period, for the marks of the slider. */
export const marksQuery = (
  kind: 'finding_began' | 'operation_requested',
  since: number,
  until: number,
) =>
  query(historyList, {
    query: {
      kind,
      since: new Date(since).toISOString(),
      until: new Date(until).toISOString(),
      per_page: 200,
    },
  })

/** The last entry of the history before a time, and the first after it. */
export const stepQueries = (at: string) => ({
  before: query(historyList, { query: { until: at, per_page: 1 } }),
  after: query(historyList, {
    query: { since: new Date(Date.parse(at) + 1).toISOString(), sort: 'at', per_page: 1 },
  }),
})

/** Changes params of the page of the past, which keeps its time. Without a value, one is removed. */
export function change(
  { pathname, href }: Pick<Place, 'pathname' | 'href'>,
  params: Readonly<Record<string, string | undefined>>,
): void {
  const [, search = ''] = href.split('?')
  const old = parseSearch(search.split('#')[0] ?? '')
  void navigate(pathname + stringifySearch({ ...old, ...params }), { replace: true, stays: true })
}
