/** The servers of a list in groups, counted: of one cluster, rack, finding or value of a label. */
import * as z from 'zod/mini'
import { listGroups } from '../labels/groups.ts'
import { serverList } from './server.ts'

export const serverGroups = listGroups(serverList, 'serverGroups', { servers: z.int() })
