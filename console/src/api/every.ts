/**
 * Queries that several features share: all datacenters and all clusters, for filters and select
 * boxes, and all servers of a cluster.
 */
import { clusterList } from '#contract/clusters/clusters.ts'
import { datacenterList } from '#contract/datacenters.ts'
import { serverRows } from '#contract/servers/servers.ts'
import { query } from './query.ts'

export const everyDatacenter = query(datacenterList, { query: { per_page: 1000, sort: 'code' } })
export const everyCluster = query(clusterList, { query: { per_page: 1000, sort: 'name' } })
export const everyServerOf = (clusterId: string) =>
  query(serverRows, { query: { cluster: clusterId, fields: 'list' } })
