/** Queries for all datacenters and all clusters, for the filters and select boxes of any page. */
import { clusterList } from '#contract/clusters/clusters.ts'
import { datacenterList } from '#contract/datacenters.ts'
import { query } from './query.ts'

export const everyDatacenter = query(datacenterList, { query: { per_page: 1000, sort: 'code' } })
export const everyCluster = query(clusterList, { query: { per_page: 1000, sort: 'name' } })
