import { keepPreviousData } from '@tanstack/react-query'
import { rackGet, rackList } from '#contract/racks/racks.ts'
import { serverRows } from '#contract/servers/servers.ts'
import { invalidate, query } from '../../api/query.ts'
import { askedOf, type ListSearch } from '../../lib/list-search.ts'

export const racksQuery = (search: ListSearch) => ({
  ...query(rackList, { query: askedOf(rackList, search) }),
  placeholderData: keepPreviousData,
})
export const rackQuery = (id: string) => query(rackGet, { params: { id } })
/** The servers of a rack: at most two in each unit. */
export const inRackQuery = (id: string) =>
  query(serverRows, { query: { rack: id, fields: 'list', per_page: 1000 } })

/** Refetches racks and servers after a change. */
export const refreshRacks = () => invalidate(rackList, rackGet, serverRows, { name: 'serverGet' })
