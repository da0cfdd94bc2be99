/** Queries of the join token pages. */
import { joinTokenArrivals, joinTokenList } from '#contract/join-tokens.ts'
import { query } from '../../api/query.ts'
import { askedOf, type ListSearch } from '../../lib/list-search.ts'

export const tokensQuery = (search: ListSearch) => query(joinTokenList, { query: askedOf(joinTokenList, search) })

export const arrivalsPerPage = 25
export const arrivalsQuery = (id: string, page: number) => query(joinTokenArrivals, { params: { id }, query: { page, per_page: arrivalsPerPage } })
