/**
 * What is wrong with the snapshots of a cluster, which findings and its health say, and with
 * Steelyard's own backups, which findings, `doctor` and a metric say. Pure functions.
 */
import type { SnapshotCondition } from './store.ts'

const hourMs = 3_600_000
/** A cluster without a snapshot should have one, or a schedule, on the day after it is ready. */
const firstMs = 24 * hourMs
/** A cluster without a schedule should have a snapshot of the last week. */
const weekMs = 7 * 24 * hourMs

/** Why there is no such snapshot. */
export const removedEarly = 'The snapshot was removed before it was ready'

type Schedule = NonNullable<SnapshotCondition['schedule']>

/** A schedule has taken a newer one by then, even if one was left out. */
const scheduledMs = ({ every_hours }: Schedule): number => (2 * every_hours + 1) * hourMs
/**
 * When a schedule that isn't paused should have taken one newer than this. One that was changed or
 * resumed waits for its next time.
 */
const dueAt = (newest: Date | null, schedule: Schedule): number =>
  Math.max(newest?.getTime() ?? 0, schedule.updated_at.getTime()) + scheduledMs(schedule)

export interface SnapshotTrouble {
  readonly kind: 'cluster_snapshot_failed' | 'cluster_snapshot_overdue'
  readonly since: Date
  /** Sentences, without the last full stop. */
  readonly reason: string
}

/** `2026-11-22 03:12 UTC` */
const day = (at: Date): string => {
  const text = at.toISOString()
  return `${text.slice(0, 10)} ${text.slice(11, 16)} UTC`
}

export const newestSaid = ({ newest_at: newest }: Pick<SnapshotCondition, 'newest_at'>): string =>
  newest === null ? 'No snapshot can be restored' : `The newest is of ${day(newest)}`

/** Why no schedule takes the next snapshot; null if one does. */
export function unscheduledSaid({
  newest_at,
  schedule,
}: Pick<SnapshotCondition, 'newest_at' | 'schedule'>): string | null {
  if (schedule !== null) return schedule.paused ? 'The schedule is paused' : null
  return newest_at === null
    ? 'No schedule takes snapshots. A cluster that loses all its control planes is lost'
    : 'No schedule takes snapshots'
}

/**
 * The last snapshot failed, or the newest is too old: a schedule should have taken two newer ones.
 * @param readyAt when the cluster was ready for the first time
 * @param now ms since 1970
 */
export function snapshotTrouble(
  condition: SnapshotCondition,
  readyAt: Date,
  now: number,
): SnapshotTrouble | null {
  const { newest_at: newest, schedule, failure } = condition
  const last = newestSaid(condition)
  if (failure !== null)
    return {
      kind: 'cluster_snapshot_failed',
      since: failure.at,
      reason: `The last snapshot failed: ${failure.reason.replace(/\.$/, '')}. ${last}`,
    }
  const unscheduled = unscheduledSaid(condition)
  const due =
    schedule !== null && unscheduled === null
      ? dueAt(newest, schedule)
      : (newest ?? readyAt).getTime() + (newest === null ? firstMs : weekMs)
  if (now <= due) return null
  return {
    kind: 'cluster_snapshot_overdue',
    since: new Date(due),
    reason: `${last}. ${unscheduled ?? 'The schedule should have taken newer ones'}`,
  }
}

const newestBackupSaid = ({ newest_at: newest }: Pick<SnapshotCondition, 'newest_at'>): string =>
  newest === null
    ? 'No backup in a store can be restored'
    : `The newest backup in a store is of ${day(newest)}`

export interface BackupTrouble extends Omit<SnapshotTrouble, 'kind'> {
  readonly kind: 'installation_backup_failed' | 'installation_backup_overdue'
}

/**
 * Steelyard's last own backup failed, or its schedule should have taken newer ones. Without a
 * schedule, users take them as they need.
 * @param now ms since 1970
 */
export function backupTrouble(condition: SnapshotCondition, now: number): BackupTrouble | null {
  const { newest_at: newest, schedule, failure } = condition
  const last = newestBackupSaid(condition)
  if (failure !== null)
    return {
      kind: 'installation_backup_failed',
      since: failure.at,
      reason: `${last}. The last one failed: ${failure.reason.replace(/\.$/, '')}`,
    }
  if (schedule === null) return null
  const due = schedule.paused
    ? (newest ?? schedule.created_at).getTime() + scheduledMs(schedule)
    : dueAt(newest, schedule)
  if (now <= due) return null
  return {
    kind: 'installation_backup_overdue',
    since: new Date(due),
    reason: `${last}. ${schedule.paused ? 'The schedule is paused' : 'The schedule should have taken newer ones'}`,
  }
}

/**
 * What is said of Steelyard's own backups in stores; null if there is none and no schedule. A paused
 * schedule is said before anything is overdue.
 * @param now ms since 1970
 */
export function backupsSaid(
  condition: SnapshotCondition,
  now: number,
): { readonly isWell: boolean; readonly text: string } | null {
  const { newest_at: newest, schedule, failure } = condition
  if (newest === null && schedule === null && failure === null) return null
  const trouble = backupTrouble(condition, now)
  if (trouble !== null) return { isWell: false, text: trouble.reason }
  const last = newestBackupSaid(condition)
  if (schedule === null) return { isWell: true, text: `${last}. No schedule takes backups` }
  if (schedule.paused) return { isWell: false, text: `${last}. The schedule is paused` }
  return { isWell: true, text: last }
}
