/** Queries of the subnet pages. */
import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { clusterGet, clusterList } from '#contract/clusters/clusters.ts'
import { datacenterList } from '#contract/datacenters.ts'
import { overviewGet } from '#contract/overview.ts'
import {
  clusterSubnets,
  type Subnet,
  subnetGet,
  subnetList,
  subnetMap,
} from '#contract/network/subnets.ts'
import { call, CallError } from '../../api/client.ts'
import { invalidate, keyOf, query } from '../../api/query.ts'
import { askedOf, type ListSearch } from '../../lib/list-search.ts'
import { everyPage } from '../../lib/every-page.ts'

export const subnetsQuery = (search: ListSearch) => ({
  ...query(subnetList, { query: askedOf(subnetList, search) }),
  placeholderData: keepPreviousData,
})
export const subnetOne = (id: string) => query(subnetGet, { params: { id } })
/** Several subnets by id. Those that don't exist, and only these, are left out. */
export const subnetsByIds = (ids: readonly string[]) =>
  queryOptions<Subnet[]>({
    queryKey: [keyOf(subnetGet), { several: ids }],
    queryFn: async ({ signal }) => {
      const found = await Promise.all(
        ids.map((id) =>
          call(subnetGet, { params: { id } }, signal).catch((error: unknown) => {
            if (error instanceof CallError && error.status === 404) return []
            throw error
          }),
        ),
      )
      return found.flat()
    },
  })
export const mapOf = (id: string) => query(subnetMap, { params: { id } })
/**
 * Every subnet of the datacenter with this code. Reads all pages, because an assignment replaces
 * the cluster's whole list.
 */
export const subnetsOf = (datacenter: string) =>
  queryOptions<Subnet[]>({
    queryKey: [keyOf(subnetList), { every: datacenter }],
    queryFn: ({ signal }) =>
      everyPage((page) =>
        call(subnetList, { query: { datacenter, page, per_page: 1000, sort: 'name' } }, signal),
      ),
  })
export const clusterSubnetsOf = (id: string) => query(clusterSubnets, { params: { id } })

/**
 * Refetches everything that shows subnets or their assignments. Call this after a change of either.
 */
export const refreshNetwork = (): Promise<unknown> =>
  invalidate(
    subnetList,
    subnetGet,
    subnetMap,
    clusterSubnets,
    clusterList,
    clusterGet,
    datacenterList,
    overviewGet,
  )
