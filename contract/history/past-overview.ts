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
const { servers, clusters, capacity } = Overview.shape
const sums = capacity.def.element

export const PastOverview = z.object({
  /** The findings that were open, the worst first. */
  findings: z.object({ total: z.int(), items: z.array(PastFinding) }),
  servers: z.object({
    total: servers.shape.total,
    maintenance: servers.shape.maintenance,
    ready: servers.shape.ready,
    reachable: servers.shape.reachable,
    unreachable: servers.shape.unreachable,
    away: never,
    unconfirmed: servers.shape.unconfirmed,
  }),
  clusters: z.object({
    total: clusters.shape.total,
    by_status: clusters.shape.by_status,
  }),
  capacity: z.array(
    z.object({
      ...sums.shape,
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
