import { keepPreviousData, type QueryClient } from '@tanstack/react-query'
import { clusterGet, clusterList } from '#contract/clusters.ts'
import { operationGet, operationList } from '#contract/operations.ts'
import type { Asked } from '#contract/operation.ts'
import { invalidate, query } from '../../api/query.ts'

export type ClusterSearch = Readonly<Record<string, string | undefined>>

const sorts = ['name', 'datacenter', 'status', 'kubernetes_version', 'talos_version', 'created_at'] as const
export const defaultSize = 50

const whole = (text: string | undefined, most: number): number | undefined => {
  const n = text !== undefined && /^[1-9]\d{0,5}$/.test(text) ? Number(text) : undefined
  return n !== undefined && n <= most ? n : undefined
}

/** What is asked for a place in the address; values that nobody knows are not sent. */
function clusterQuery(search: ClusterSearch): Asked<typeof clusterList>['query'] {
  const column = sorts.find((s) => s === search['sort']?.replace(/^-/, ''))
  return {
    page: whole(search['page'], 100_000) ?? 1,
    per_page: whole(search['size'], 1000) ?? defaultSize,
    ...(search['q'] !== undefined && { q: search['q'].slice(0, 200) }),
    ...(column && { sort: search['sort']?.startsWith('-') ? (`-${column}` as const) : column }),
  }
}

export const clustersQuery = (search: ClusterSearch) => ({ ...query(clusterList, { query: clusterQuery(search) }), placeholderData: keepPreviousData })
export const clusterOne = (id: string) => query(clusterGet, { params: { id } })
export const operationOne = (id: string) => query(operationGet, { params: { id } })
/** The operations on a cluster, newest first. */
export const operationsOf = (id: string) => query(operationList, { query: { target: id, per_page: 20 } })

export const refreshClusters = (client: QueryClient): Promise<unknown> => invalidate(client, clusterList, clusterGet, operationList, operationGet)
