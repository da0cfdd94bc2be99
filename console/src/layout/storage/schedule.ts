import type { NewSnapshotSchedule } from '#contract/clusters/changes/snapshot-schedule.ts'
import type { SnapshotSchedule } from '#contract/clusters/changes/snapshots.ts'
import type { Verdict } from '#contract/rule.ts'

/** A schedule that takes snapshots of a cluster, or backups of Steelyard. */
export interface ScheduleOf {
  /** Such as "Snapshots of web". */
  readonly title: string
  readonly things: 'snapshots' | 'backups'
  /** What it means that there is no schedule. */
  readonly none: string
  /** Whether the user may change the schedule. */
  readonly can: Verdict
  readonly save: (body: NewSnapshotSchedule, version: number | undefined) => Promise<unknown>
  readonly remove: (version: number) => Promise<unknown>
  /** Fetches the schedule again. */
  readonly refresh: () => Promise<unknown>
  /** The change as a call of the API. */
  readonly curl: (body: unknown) => string
}

export interface EditScheduleProps {
  of: ScheduleOf
  schedule: SnapshotSchedule | null
}
