/** The clusters of a list in groups, counted: of one status, finding, version or value of a label. */
import * as z from 'zod/mini'
import { listGroups } from '../labels/groups.ts'
import { clusterList } from './clusters.ts'

export const clusterGroups = listGroups(clusterList, 'clusterGroups', { clusters: z.int() })
