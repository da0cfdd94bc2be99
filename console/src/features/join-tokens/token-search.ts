/** What stands in the address of the list of join tokens, and what is asked of the API for it. */
import { type joinTokenList, joinTokenStatuses } from '#contract/join-tokens.ts'
import type { Asked } from '#contract/operation.ts'

export type TokenSearch = Readonly<Record<string, string | undefined>>
type Ask = Asked<typeof joinTokenList>['query']

const sorts = ['created_at', 'name', 'expires_at', 'uses', 'status'] as const
const sizes = [5, 10, 25, 50, 100, 1000] as const
export const defaultSize = 50
/** Newest first. */
export const defaultSort = '-created_at'

const whole = (text: string | undefined): number | undefined => (text !== undefined && /^[1-9]\d{0,5}$/.test(text) ? Number(text) : undefined)

const sizeOf = (search: TokenSearch): number => sizes.find((n) => n === whole(search['size'])) ?? defaultSize

/** Values that nobody knows stay in the address and are not sent. */
export function tokenQuery(search: TokenSearch): Ask {
  const wanted = search['sort'] ?? defaultSort
  const column = sorts.find((s) => s === wanted.replace(/^-/, '')) ?? 'created_at'
  const status = joinTokenStatuses.find((s) => s === search['status'])
  return {
    page: whole(search['page']) ?? 1,
    per_page: sizeOf(search),
    sort: wanted.startsWith('-') ? `-${column}` : column,
    ...(search['q'] !== undefined && { q: search['q'].slice(0, 200) }),
    ...(status && { status }),
  }
}

export const isFiltered = (search: TokenSearch): boolean => search['q'] !== undefined || search['status'] !== undefined
export const noFilters = { q: undefined, status: undefined, page: undefined } as const
