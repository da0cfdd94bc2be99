/** The day that the slider of the past shows. Pure. */

const minuteMs = 60_000
const dayMs = 24 * 60 * minuteMs

/** Times in ms. */
export interface Day {
  readonly from: number
  readonly to: number
  /** Whether it ends now. */
  readonly endsNow: boolean
}

/** The last 24 hours, if the time is one of them, else the day of the reader's zone that it is in. */
export function dayOf(at: number, now: number): Day {
  if (at > now - dayMs) return { from: now - dayMs, to: now, endsNow: true }
  const d = new Date(at)
  // A day has 23 or 25 hours when clocks are changed.
  return {
    from: new Date(d.getFullYear(), d.getMonth(), d.getDate()).getTime(),
    to: new Date(d.getFullYear(), d.getMonth(), d.getDate() + 1).getTime(),
    endsNow: false,
  }
}

export const minutesIn = ({ from, to }: Day): number => Math.round((to - from) / minuteMs)
export const minuteOf = ({ from }: Day, at: number): number => Math.round((at - from) / minuteMs)
/** The time of a minute of the day, never after its end. */
export const timeAt = ({ from, to }: Day, minute: number): number =>
  Math.min(to, from + minute * minuteMs)

/** The same time of another day, or the nearest that has been: a skipped hour becomes the next one. */
export function onDay(at: number, day: string, now: number): number | null {
  const [y = NaN, m = NaN, d = NaN] = day.split('-').map(Number)
  const t = new Date(at)
  const there = new Date(y, m - 1, d, t.getHours(), t.getMinutes(), t.getSeconds()).getTime()
  return Number.isNaN(there) ? null : Math.min(there, now)
}

/** "2026-11-27", as an input of days has it. */
export function dayText(at: number): string {
  const d = new Date(at)
  const two = (n: number) => String(n).padStart(2, '0')
  return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())}`
}
