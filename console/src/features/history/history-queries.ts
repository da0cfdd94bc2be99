import { keepPreviousData } from '@tanstack/react-query'
import { history, historyList } from '#contract/history/history.ts'
import { query } from '../../api/query.ts'
import { type ListSearch, narrowingOf } from '../../lib/list-search.ts'

/** What the history is of: one server, one cluster with its servers, or everything. */
export type Subject = { readonly object?: string; readonly cluster?: string }

/** A cursor as the contract checks it. Another text in the URL shows the first page. */
const cursor = /^\d{1,15}-\d{1,15}$/

/** A page of the history, for a URL's search params. */
export const historyQuery = (search: ListSearch, subject: Subject) => {
  const { after, sort } = search
  return {
    ...query(historyList, {
      query: {
        ...narrowingOf({ ...historyList, list: history }, search),
        ...subject,
        ...(after !== undefined && cursor.test(after) && { after }),
        ...(sort === 'at' && { sort: 'at' as const }),
        per_page: history.perPage,
      },
    }),
    placeholderData: keepPreviousData,
    staleTime: 0,
  }
}
