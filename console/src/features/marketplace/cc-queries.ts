/** Queries of the marketplace. */
import { keepPreviousData } from '@tanstack/react-query'
import { ccCounts, ccEvents, ccGet, ccList } from '#contract/marketplace/ccs.ts'
import { serverGet, serverList, serverRows } from '#contract/servers/servers.ts'
import { invalidate, query } from '../../api/query.ts'
import { askedOf, type ListSearch, narrowingOf } from '../../lib/list-search.ts'

export const ccsQuery = (search: ListSearch) => ({
  ...query(ccList, { query: askedOf(ccList, search) }),
  placeholderData: keepPreviousData,
})
/** The numbers of commitments by status, for the search and the other filters of the list. */
export const countsQuery = (search: ListSearch) => ({
  ...query(ccCounts, { query: narrowingOf(ccList, { ...search, status: undefined }) }),
  placeholderData: keepPreviousData,
})
export const ccOne = (id: string) => query(ccGet, { params: { id } })
export const ccHistory = (id: string) => query(ccEvents, { params: { id } })

/** Refetches everything that shows commitments. Call this after a change. */
export const refreshCcs = (): Promise<unknown> =>
  invalidate(ccList, ccCounts, ccGet, ccEvents, serverList, serverRows, serverGet)
