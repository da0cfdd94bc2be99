/** A finding that was open at a time of the past: what the history records of it. */
import * as z from 'zod/mini'
import { reasonText } from '../bounds/fields.ts'
import { pastOf } from '../history/past.ts'
import type { Words } from '../operation.ts'
import { pageOf, time } from '../page.ts'
import { Finding, findingList } from './findings.ts'

/** A value that the history doesn't record. */
const never = z.null()

export const PastFinding = z.object({
  id: Finding.shape.id,
  kind: Finding.shape.kind,
  severity: Finding.shape.severity,
  object: Finding.shape.object,
  cluster: Finding.shape.cluster,
  datacenter: Finding.shape.datacenter,
  /** When it had begun last. */
  since: z.nullable(time),
  reason: z.nullable(reasonText),
  remedies: never,
  acknowledged: never,
  affected: never,
  caused_by: never,
  /** It was open. */
  ended_at: never,
  count: never,
})
export type PastFinding = z.infer<typeof PastFinding>

/** The findings that were open at a time of the past. */
export const findingListPast = pastOf(findingList, pageOf(PastFinding))

/** What the history doesn't record of a finding. */
export const notRecordedOfFindings = ['remedies', 'acknowledged', 'affected', 'caused_by', 'count']

/** Words for the API documentation. */
export const words: Words = {
  objects: { PastFinding: [PastFinding, 'A finding that was open at a time of the past.'] },
}
