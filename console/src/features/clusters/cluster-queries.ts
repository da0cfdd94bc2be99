import { keepPreviousData, type QueryClient } from '@tanstack/react-query'
import { clusterGet, clusterList } from '#contract/clusters/clusters.ts'
import { operationGet, operationList } from '#contract/operations.ts'
import type { Asked } from '#contract/operation.ts'
import type { Search } from '../../api/page.ts'
import { invalidate, query } from '../../api/query.ts'
import { pageNumber, pageSize, sortAmong } from '../../lib/list-search.ts'

type ClusterSearch = Search<'/infra/clusters/'>

const sorts = ['name', 'datacenter', 'status', 'kubernetes_version', 'talos_version', 'created_at'] as const
export const defaultSize = 50

/** What is asked for a place in the address; values that nobody knows are not sent. */
function clusterQuery(search: ClusterSearch): Asked<typeof clusterList>['query'] {
  const sort = sortAmong(sorts, search.sort)
  return {
    page: pageNumber(search.page),
    per_page: pageSize(search.size, defaultSize),
    ...(search.q !== undefined && { q: search.q.slice(0, 200) }),
    ...(sort && { sort }),
  }
}

export const clustersQuery = (search: ClusterSearch) => ({ ...query(clusterList, { query: clusterQuery(search) }), placeholderData: keepPreviousData })
export const clusterOne = (id: string) => query(clusterGet, { params: { id } })
export const operationOne = (id: string) => query(operationGet, { params: { id } })
/** Operations on a cluster, newest first. */
export const operationsOf = (id: string) => query(operationList, { query: { target: id, per_page: 100 } })

export const refreshClusters = (client: QueryClient): Promise<unknown> => invalidate(client, clusterList, clusterGet, operationList, operationGet)
