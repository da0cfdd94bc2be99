import { keepPreviousData } from '@tanstack/react-query'
import { clusterGet, clusterList } from '#contract/clusters/clusters.ts'
import { clusterHealth } from '#contract/clusters/health.ts'
import { operationList } from '#contract/operations.ts'
import { query } from '../../api/query.ts'
import { askedOf, type ListSearch } from '../../lib/list-search.ts'

export const clustersQuery = (search: ListSearch) => ({
  ...query(clusterList, { query: askedOf(clusterList, search) }),
  placeholderData: keepPreviousData,
})
export const clusterOne = (id: string) => query(clusterGet, { params: { id } })
/** Operations on a cluster, newest first. */
export const operationsOf = (id: string) =>
  query(operationList, { query: { target: id, per_page: 100 } })
/**
 * Operations on a cluster that have not ended. Not part of the newest: a change may wait for weeks
 * while many others end.
 */
export const openOperationsOf = (id: string) =>
  query(operationList, { query: { target: id, status: 'open', per_page: 100 } })
/**
 * The health of a cluster. Read again every 15 s while it is shown, because no event reports a
 * machine that stops answering.
 */
export const healthOf = (id: string) => ({
  ...query(clusterHealth, { params: { id } }),
  staleTime: 0,
  refetchInterval: 15_000,
})
