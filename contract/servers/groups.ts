/** The servers of a list in groups, counted: of one cluster, rack, finding or value of a label. */
import * as z from 'zod/mini'
import { meaningsOf, narrowingOf } from '../list.ts'
import { selectorOf } from '../labels/selector.ts'
import { operation } from '../operation.ts'
import { serverList } from './server.ts'

export const serverGroupings = ['cluster', 'rack', 'datacenter', 'finding'] as const
type Named = (typeof serverGroupings)[number]

/** Most groups that an answer lists. */
export const mostGroups = 1000

export const groupingSentence = `Groups are by ${serverGroupings.join(', ')}, or by a label such as label:gen`

/** What servers are grouped by; null if the text names nothing. */
export function groupingOf(text: string): { by: Named } | { label: string } | null {
  const by = serverGroupings.find((one) => one === text)
  if (by !== undefined) return { by }
  const label = text.startsWith('label:') ? text.slice('label:'.length) : ''
  // A selector that only names a key has its syntax.
  const conditions = label === '' ? null : selectorOf(label)
  const [only, ...more] = conditions ?? []
  return only?.key === label && more.length === 0 ? { label } : null
}

export const serverGroups = {
  ...operation('serverGroups', 'GET /v1/nodes/groups', 'servers:read', {
    summary: `The servers of a list in groups, with the number of servers in each, of all pages: by name, and last those in no group. At most ${mostGroups} groups.`,
    query: z.strictObject({
      by: z.string().check(
        z.trim(),
        z.maxLength(400),
        z.refine((text) => groupingOf(text) !== null, { error: groupingSentence }),
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
