/** The overview of a time of the past: what the history records of it. */
import * as z from 'zod/mini'
import { codeText } from '../bounds/fields.ts'
import { PastFinding } from '../findings/past-finding.ts'
import { Overview, overviewGet } from '../overview.ts'
import { HistoryDigest } from './digest.ts'
import { pastOf } from './past.ts'

/** Most findings that the overview of a time lists. */
export const mostPastFindings = 50
/** A value that the history doesn't record. */
const never = z.null()

export const PastOverview = z.object({
  /** The findings that were open, the worst first. */
  findings: z.object({ total: z.int(), items: z.array(PastFinding) }),
  servers: z.object({
    total: Overview.shape.servers.shape.total,
    maintenance: Overview.shape.servers.shape.maintenance,
    ready: Overview.shape.servers.shape.ready,
    reachable: Overview.shape.servers.shape.reachable,
    unreachable: Overview.shape.servers.shape.unreachable,
    away: never,
    unconfirmed: Overview.shape.servers.shape.unconfirmed,
  }),
  clusters: z.object({
    total: Overview.shape.clusters.shape.total,
    by_status: Overview.shape.clusters.shape.by_status,
  }),
  capacity: z.array(
    z.object({
      ...Overview.shape.capacity.def.element.shape,
      datacenter: z.nullable(z.object({ id: never, code: codeText })),
    }),
  ),
  subnets: never,
  running: never,
  failures: never,
  /** What happened in the 24 hours before. */
  last_day: HistoryDigest,
})
export type PastOverview = z.infer<typeof PastOverview>

/** The overview of a time of the past. */
export const overviewGetPast = pastOf(overviewGet, PastOverview)
