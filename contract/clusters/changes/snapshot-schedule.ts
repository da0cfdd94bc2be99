/** The wanted schedule of the snapshots of a cluster, or of Steelyard's own backups. */
import * as z from 'zod/mini'
import { wholeIn } from '../../page.ts'

const intervals = [1, 2, 3, 4, 6, 8, 12, 24, 48, 72, 168] as const
export const NewSnapshotSchedule = z.strictObject({
  store_id: z.uuid('Choose a store'),
  /** Hours between two snapshots. */
  every_hours: z.union(
    intervals.map((hours) => z.literal(hours)),
    { error: `The interval is one of ${intervals.join(', ')} hours` },
  ),
  /** Hour of the day, UTC, of the first snapshot; the others follow at the interval. */
  at_hour: z._default(wholeIn(0, 23, 'The hour must be between 0 and 23'), 2),
  /** How many snapshots of the schedule are kept; null: not limited. */
  keep_count: z._default(z.nullable(wholeIn(1, 10_000, 'Keep between 1 and 10,000 snapshots')), 14),
  /**
   * How many days a snapshot of the schedule is kept; null: not limited. The newest is always kept.
   */
  keep_days: z._default(
    z.nullable(wholeIn(1, 3_650, 'Keep snapshots between 1 and 3,650 days')),
    null,
  ),
  paused: z._default(z.boolean(), false),
})
export type NewSnapshotSchedule = z.infer<typeof NewSnapshotSchedule>
export type NewSnapshotScheduleInput = z.input<typeof NewSnapshotSchedule>
