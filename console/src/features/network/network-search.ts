/** What stands in the address of the list of subnets, and what is asked of the API for it. */
import type { Asked } from '#contract/operation.ts'
import { type subnetList, subnetPurposes, subnetStatuses } from '#contract/network/subnets.ts'
import { among, pageNumber, pageSize, sortAmong } from '../../lib/list-search.ts'
import { texts } from '../../lib/search.ts'

const networkSearchKeys = ['q', 'cluster', 'datacenter', 'status', 'type', 'purpose', 'sort', 'page', 'size', 'open'] as const
/** All optional strings; a value that nobody knows stays in the address and is not sent. `open` is the id of the row whose address map is open. */
export type NetworkSearch = Partial<Record<(typeof networkSearchKeys)[number], string>>

export const types = ['IPv4', 'IPv6'] as const
const sortColumns = ['name', 'type', 'cidr', 'gateway', 'vlan_id', 'datacenter', 'cluster', 'used', 'status'] as const
export const defaultSize = 50

export const readNetworkSearch: (raw: Record<string, unknown>) => NetworkSearch = texts(...networkSearchKeys)

type Ask = Asked<typeof subnetList>['query']

/** The part that narrows the list: what an export takes too. Filters are sent only where they are one of the allowed values. */
export function filterQuery(search: NetworkSearch) {
  const status = among(subnetStatuses, search.status)
  const type = among(types, search.type)
  const purpose = among(subnetPurposes, search.purpose)
  const short = (text: string | undefined) => (text !== undefined && text.length <= 40 ? text : undefined)
  const [cluster, datacenter] = [short(search.cluster), short(search.datacenter)]
  return {
    ...(search.q !== undefined && { q: search.q.slice(0, 200) }),
    ...(status && { status }),
    ...(type && { type }),
    ...(purpose && { purpose }),
    ...(cluster !== undefined && { cluster }),
    ...(datacenter !== undefined && { datacenter }),
  } satisfies Ask
}

export function subnetQuery(search: NetworkSearch): Ask {
  const sort = sortAmong(sortColumns, search.sort)
  return {
    page: pageNumber(search.page),
    per_page: pageSize(search.size, defaultSize),
    ...filterQuery(search),
    ...(sort && { sort }),
  }
}

const filterKeys = ['q', 'cluster', 'datacenter', 'status', 'type', 'purpose'] as const
/** What of it a saved view keeps. */
export const viewKeys = [...filterKeys, 'sort'] as const
export const isFiltered = (search: NetworkSearch): boolean => filterKeys.some((key) => search[key] !== undefined)

/** Takes off what narrows the list; order and page size stay. */
export const noFilters = {
  q: undefined,
  cluster: undefined,
  datacenter: undefined,
  status: undefined,
  type: undefined,
  purpose: undefined,
  page: undefined,
} as const
