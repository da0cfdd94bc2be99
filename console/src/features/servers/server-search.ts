/** What stands in the address of the server list, and what is asked of the API for it. */
import { nodeTypes, type serverList, serverStatuses } from '#contract/servers.ts'
import type { Asked } from '#contract/operation.ts'

const pageSizes = [5, 10, 25, 50, 100, 1000] as const
/** Specified: page 1 of 1000 is asked unless the address says otherwise. */
export const defaultSize = 1000

const sortColumns = ['name', 'datacenter', 'cluster', 'type', 'status', 'contact'] as const

/** What stands in the address; `add` is the state of "Add servers". */
const serverSearchKeys = ['q', 'status', 'nodeType', 'datacenter', 'cluster', 'reachable', 'confirmed', 'sort', 'page', 'size', 'add'] as const
/** All optional strings, as the specification has them; a value that nobody knows stays in the address and is not sent. */
export type ServerSearch = Partial<Record<(typeof serverSearchKeys)[number], string>>

export function readServerSearch(raw: Readonly<Record<string, unknown>>): ServerSearch {
  const search: ServerSearch = {}
  for (const key of serverSearchKeys) {
    const value = raw[key]
    if (typeof value === 'string' && value !== '') search[key] = value
  }
  return search
}

const among = <T extends string>(allowed: readonly T[], value: string | undefined): T | undefined => allowed.find((a) => a === value)

const whole = (text: string | undefined, allowed: (n: number) => boolean): number | undefined => {
  const n = text !== undefined && /^[1-9]\d{0,6}$/.test(text) ? Number(text) : undefined
  return n !== undefined && allowed(n) ? n : undefined
}

const pageOf = (search: ServerSearch): number => whole(search.page, (n) => n <= 1_000_000) ?? 1
export const sizeOf = (search: ServerSearch): number => whole(search.size, (n) => pageSizes.some((size) => size === n)) ?? defaultSize

type Sort = NonNullable<Asked<typeof serverList>['query']['sort']>

function sortOf(search: ServerSearch): Sort | undefined {
  const column = among(sortColumns, search.sort?.replace(/^-/, ''))
  if (column === undefined) return undefined
  return search.sort?.startsWith('-') ? `-${column}` : column
}

/** Filters are sent only where they are not empty and one of the allowed values. */
export function serverQuery(search: ServerSearch): Asked<typeof serverList>['query'] {
  const status = among(serverStatuses, search.status)
  const nodeType = among(nodeTypes, search.nodeType)
  const reachable = among(['true', 'false'], search.reachable)
  const confirmed = among(['true', 'false'], search.confirmed)
  const sort = sortOf(search)
  return {
    page: pageOf(search),
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
