/** What stands in the address of the server list, and what is asked of the API for it. */
import { nodeTypes, type serverList, serverStatuses } from '#contract/servers/servers.ts'
import type { Asked } from '#contract/operation.ts'
import { among, pageNumber, pageSize, sortAmong } from '../../../lib/list-search.ts'
import { texts } from '../../../lib/search.ts'

/** Specified: page 1 of 1000 is asked unless the address says otherwise. */
export const defaultSize = 1000

const sortColumns = ['name', 'datacenter', 'cluster', 'type', 'status', 'contact'] as const

/** What stands in the address; `add` is the state of "Add servers". */
const serverSearchKeys = ['q', 'status', 'nodeType', 'datacenter', 'cluster', 'reachable', 'confirmed', 'sort', 'page', 'size', 'add'] as const
/** All optional strings, as the specification has them; a value that nobody knows stays in the address and is not sent. */
export type ServerSearch = Partial<Record<(typeof serverSearchKeys)[number], string>>

export const readServerSearch: (raw: Record<string, unknown>) => ServerSearch = texts(...serverSearchKeys)

export const sizeOf = (search: ServerSearch): number => pageSize(search.size, defaultSize)

/** Filters are sent only where they are not empty and one of the allowed values. */
export function serverQuery(search: ServerSearch): Asked<typeof serverList>['query'] {
  const status = among(serverStatuses, search.status)
  const nodeType = among(nodeTypes, search.nodeType)
  const reachable = among(['true', 'false', 'away'], search.reachable)
  const confirmed = among(['true', 'false'], search.confirmed)
  const sort = sortAmong(sortColumns, search.sort)
  return {
    page: pageNumber(search.page),
    per_page: sizeOf(search),
    ...(search.q !== undefined && { q: search.q.slice(0, 200) }),
    ...(status && { status }),
    ...(nodeType && { nodeType }),
    ...(search.datacenter !== undefined && search.datacenter.length <= 40 && { datacenter: search.datacenter }),
    ...(search.cluster !== undefined && search.cluster.length <= 40 && { cluster: search.cluster }),
    ...(reachable && { reachable }),
    ...(confirmed && { confirmed }),
    ...(sort && { sort }),
  }
}

const filterKeys = ['q', 'status', 'nodeType', 'datacenter', 'cluster', 'reachable', 'confirmed'] as const

/** What of it a saved view keeps. */
export const viewKeys = [...filterKeys, 'sort'] as const

export const isFiltered = (search: ServerSearch): boolean => filterKeys.some((key) => search[key] !== undefined)

/** Takes off what narrows the list; order and page size stay. */
export const noFilters = {
  q: undefined,
  status: undefined,
  nodeType: undefined,
  datacenter: undefined,
  cluster: undefined,
  reachable: undefined,
  confirmed: undefined,
  page: undefined,
} as const
