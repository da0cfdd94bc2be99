/** What stands in the address of the list of join tokens, and what is asked of the API for it. */
import { type joinTokenList, joinTokenStatuses } from '#contract/join-tokens.ts'
import type { Asked } from '#contract/operation.ts'
import type { Search } from '../../api/page.ts'
import { among, pageNumber, pageSize, sortAmong } from '../../lib/list-search.ts'

export type TokenSearch = Search<'/infra/servers/join-tokens'>
type Ask = Asked<typeof joinTokenList>['query']

const sorts = ['created_at', 'name', 'expires_at', 'uses', 'status'] as const
export const defaultSize = 50
/** Newest first. */
export const defaultSort = '-created_at'

/** Values that nobody knows stay in the address and are not sent. */
export function tokenQuery(search: TokenSearch): Ask {
  const status = among(joinTokenStatuses, search.status)
  return {
    page: pageNumber(search.page),
    per_page: pageSize(search.size, defaultSize),
    sort: sortAmong(sorts, search.sort) ?? defaultSort,
    ...(search.q !== undefined && { q: search.q.slice(0, 200) }),
    ...(status && { status }),
  }
}

export const isFiltered = (search: TokenSearch): boolean => search.q !== undefined || search.status !== undefined
export const noFilters = { q: undefined, status: undefined, page: undefined } as const
