/** What stands in the address of the list of subnets, and what is asked of the API for it. */
import type { Asked } from '#contract/operation.ts'
import { type subnetList, subnetPurposes, subnetStatuses } from '#contract/subnets.ts'

const networkSearchKeys = ['q', 'cluster', 'datacenter', 'status', 'type', 'purpose', 'sort', 'page', 'size', 'open'] as const
/** All optional strings; a value that nobody knows stays in the address and is not sent. `open` is the id of the row whose address map is open. */
export type NetworkSearch = Partial<Record<(typeof networkSearchKeys)[number], string>>

export const types = ['IPv4', 'IPv6'] as const
const sortColumns = ['name', 'type', 'cidr', 'gateway', 'vlan_id', 'datacenter', 'cluster', 'used', 'status'] as const
export const defaultSize = 50

export function readNetworkSearch(raw: Readonly<Record<string, unknown>>): NetworkSearch {
  const search: NetworkSearch = {}
  for (const key of networkSearchKeys) {
    const value = raw[key]
    if (typeof value === 'string' && value !== '') search[key] = value
  }
  return search
}

const among = <T extends string>(allowed: readonly T[], value: string | undefined): T | undefined => allowed.find((a) => a === value)
const whole = (text: string | undefined, most: number): number | undefined => {
  const n = text !== undefined && /^[1-9]\d{0,6}$/.test(text) ? Number(text) : undefined
  return n !== undefined && n <= most ? n : undefined
}

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
  const column = among(sortColumns, search.sort?.replace(/^-/, ''))
  return {
    page: whole(search.page, 1_000_000) ?? 1,
    per_page: whole(search.size, 1000) ?? defaultSize,
    ...filterQuery(search),
    ...(column && { sort: search.sort?.startsWith('-') ? (`-${column}` as const) : column }),
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
