/** The lists that are exported as CSV. */
import { clusterList } from '../clusters/clusters.ts'
import { serverList } from '../servers/server.ts'
import { listExport } from './exports.ts'

export const serverExport = listExport(serverList, 'serverExport')
export const clusterExport = listExport(clusterList, 'clusterExport')
