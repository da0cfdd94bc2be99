import { clusterGet, clusterList } from '#contract/clusters/clusters.ts'
import { operationGet, operationList } from '#contract/operations.ts'
import { invalidate } from './query.ts'

/** Refetches clusters and their operations after a change. */
export const refreshClusters = (): Promise<unknown> =>
  invalidate(clusterList, clusterGet, operationList, operationGet)
