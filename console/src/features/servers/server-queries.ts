/** Queries of the server pages. */
import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { clusterList } from '#contract/clusters/clusters.ts'
import { datacenterList } from '#contract/datacenters.ts'
import type { Page } from '#contract/page.ts'
import { type Server, serverGet, serverList } from '#contract/servers/servers.ts'
import { call, CallError } from '../../api/client.ts'
import { keyOf, query, queryClient } from '../../api/query.ts'
import { askedOf, type ListSearch } from '../../lib/list-search.ts'
import { resourcesOf } from './page/resources.ts'

const readable = (s: Server): Server => ({ ...s, resources: resourcesOf(s.resources) })

/** A page of the list, cached under `servers`, without disks and interfaces. An opened row fetches its own. */
export function serversQuery(search: ListSearch) {
  const asked = { query: { ...askedOf(serverList, search), fields: 'summary' as const } }
  return queryOptions<Page<Server>>({
    queryKey: [keyOf(serverList), asked],
    queryFn: async ({ signal }) => {
      const page = await call(serverList, asked, signal)
      return { ...page, items: page.items.map(readable) }
    },
    placeholderData: keepPreviousData,
  })
}

/** One server with its hardware. A missing one throws the specified sentence. */
export function serverQueryOf(id: string) {
  return queryOptions<Server>({
    queryKey: [keyOf(serverGet), { params: { id } }],
    queryFn: async ({ signal }) => {
      try {
        return readable(await call(serverGet, { params: { id } }, signal))
      } catch (error) {
        if (!(error instanceof CallError) || (error.status !== 404 && error.status !== 400)) throw error
        throw new CallError(notFound(id), { status: 404, code: 'not_found' })
      }
    },
  })
}

const notFound = (id: string): string => `Server ${id} not found`

/** Every cluster, for filters. */
export const clustersQuery = query(clusterList, { query: { per_page: 1000, sort: 'name' } })
/** Every datacenter, for filters and choices. */
export const datacentersQuery = query(datacenterList, { query: { per_page: 1000, sort: 'code' } })

/** Refetches the lists and the server after a change. */
export const refreshServers = (id?: string): Promise<unknown> =>
  Promise.all([
    queryClient.invalidateQueries({ queryKey: [keyOf(serverList)] }),
    queryClient.invalidateQueries({ queryKey: id === undefined ? [keyOf(serverGet)] : [keyOf(serverGet), { params: { id } }] }),
  ])
