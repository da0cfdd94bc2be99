/** Pure functions of schedules: the times of a schedule, and which snapshots are no longer kept. */

const hourMs = 3_600_000
const dayMs = 24 * hourMs

export interface Series {
  readonly every_hours: number
  readonly at_hour: number
}

/**
 * The last time of the schedule at or before `now`. The times are counted from 1970-01-01 at the
 * schedule's hour, UTC.
 */
export function lastTime({ every_hours, at_hour }: Series, now: number): number {
  const everyMs = every_hours * hourMs
  const start = at_hour * hourMs
  return start + Math.floor((now - start) / everyMs) * everyMs
}

export const nextTime = (series: Series, now: number): number =>
  lastTime(series, now) + series.every_hours * hourMs

/** A ready snapshot that the schedule has taken. */
export interface Kept {
  readonly id: string
  readonly takenAt: Date
}

/**
 * The ids of the snapshots that are no longer kept: all beyond the newest `keepCount`, and those
 * older than `keepDays`. The newest is always kept, so that a cluster whose snapshots have failed
 * for a long time keeps its last one.
 */
export function tooMany(
  snapshots: readonly Kept[],
  { keepCount, keepDays }: { keepCount: number | null; keepDays: number | null },
  now: number,
): string[] {
  const newestFirst = snapshots.toSorted((a, b) => b.takenAt.getTime() - a.takenAt.getTime())
  return newestFirst
    .filter(
      ({ takenAt }, i) =>
        i > 0 &&
        ((keepCount !== null && i >= keepCount) ||
          (keepDays !== null && now - takenAt.getTime() > keepDays * dayMs)),
    )
    .map(({ id }) => id)
}
