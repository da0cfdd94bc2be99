import { keepPreviousData } from '@tanstack/react-query'
import { clusterGet, clusterList } from '#contract/clusters/clusters.ts'
import { clusterSubnets, subnetList } from '#contract/network/subnets.ts'
import { operationGet, operationList } from '#contract/operations.ts'
import { serverGet, serverList } from '#contract/servers/servers.ts'
import { invalidate, query } from '../../api/query.ts'
import { askedOf, type ListSearch } from '../../lib/list-search.ts'

export const operationOne = (id: string) => query(operationGet, { params: { id } })
export const operationsQuery = (search: ListSearch) => ({
  ...query(operationList, { query: askedOf(operationList, search) }),
  placeholderData: keepPreviousData,
})

/** Refetches operations, and what they change. */
export const refreshOperations = (): Promise<unknown> =>
  invalidate(
    operationList,
    operationGet,
    clusterList,
    clusterGet,
    clusterSubnets,
    serverList,
    serverGet,
    subnetList,
  )
