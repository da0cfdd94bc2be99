/** The servers of a list in groups, counted: of one cluster, rack, finding or value of a label. */
import * as z from 'zod/mini'
import { meaningsOf, narrowingOf } from '../list.ts'
import { groupingOf, groupingSentence } from '../labels/grouping.ts'
import { WorstFinding } from '../findings/findings.ts'
import { operation } from '../operation.ts'
import { serverGroupings, serverList } from './server.ts'

/** Most groups that an answer lists. */
export const mostGroups = 1000

export const serverGroups = {
  ...operation('serverGroups', 'GET /v1/nodes/groups', 'servers:read', {
    summary: `The servers of a list in groups, with the number of servers in each and their worst finding, of all pages: by name, and last those in no group. At most ${mostGroups} groups.`,
    query: z.strictObject({
      by: z.string().check(
        z.trim(),
        z.maxLength(400),
        z.refine((text) => groupingOf(serverGroupings, text) !== null, {
          error: groupingSentence(serverList.list),
        }),
      ),
      ...narrowingOf(serverList.list),
    }),
    answer: z.object({
      items: z.array(
        z.object({
          /** Id of the cluster, rack or datacenter, kind of the finding, or value of the label. */
          value: z.nullable(z.string()),
          name: z.nullable(z.string()),
          servers: z.int(),
          /** The worst finding of its servers; null if nothing is wrong. */
          finding: z.nullable(WorstFinding),
        }),
      ),
      /** Number of all groups. */
      total: z.int(),
      /** Number of servers in all groups. */
      servers: z.int(),
    }),
  }),
  meanings: {
    ...meaningsOf(serverList.list),
    by: 'What the servers of a group have in common: `cluster`, `rack`, `datacenter`, `finding`, or `label:` and the key of a label.',
  },
}
