/** Queries of the list of servers. */
import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import type { Page } from '#contract/page.ts'
import { type ListedServer, serverGet, serverList, serverRows } from '#contract/servers/servers.ts'
import { call } from '../../api/client.ts'
import { keyOf, queryClient } from '../../api/query.ts'
import { askedOf, type ListSearch } from '../../lib/list-search.ts'

/**
 * A page of the list, cached under `servers`, with the fields that the list shows. An opened row
 * fetches its whole server.
 */
export function serversQuery(search: ListSearch) {
  const asked = { query: { ...askedOf(serverList, search), fields: 'list' as const } }
  return queryOptions<Page<ListedServer>>({
    queryKey: [keyOf(serverRows), asked],
    queryFn: ({ signal }) => call(serverRows, asked, signal),
    placeholderData: keepPreviousData,
    // Comparing a thousand servers with those of the last response would block the page; the table
    // compares the rows that it shows.
    structuralSharing: false,
  })
}

/** Refetches the lists and the server after a change. */
export const refreshServers = (id?: string): Promise<unknown> =>
  Promise.all([
    queryClient.invalidateQueries({ queryKey: [keyOf(serverList)] }),
    queryClient.invalidateQueries({
      queryKey: id === undefined ? [keyOf(serverGet)] : [keyOf(serverGet), { params: { id } }],
    }),
  ])
