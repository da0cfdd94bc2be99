/**
 * When a maintenance window opens and closes. Clocks change as RFC 5545 §3.3.5 says for calendars:
 * a time that a change skips counts with the offset before the change, so 02:30 becomes 03:30 on
 * that day; of a time that comes twice, the first counts. A window lasts its minutes in any case.
 */
import { type MaintenanceWindow, weekdays } from './window.ts'

const minuteMs = 60_000
const dayMs = 1440 * minuteMs

/** A clock time of the zone as if it were UTC, in ms, for a time in ms. Whole minutes. */
function clockOf(timeZone: string): (at: number) => number {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    hourCycle: 'h23',
  })
  return (at) => {
    const parts = format.formatToParts(at)
    const part = (type: string): number => Number(parts.find((p) => p.type === type)?.value)
    return Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute'))
  }
}

/**
 * Openings in ms, in order: of the day of `at`, of the two days before it, and of as many days after
 * it. A window of 24 h from the day before yesterday ends today if clocks went forward meanwhile.
 */
function* openings({ days, from, time_zone }: MaintenanceWindow, at: number, after: number) {
  const clock = clockOf(time_zone)
  const aheadOfUtc = (ms: number): number => clock(ms) - Math.floor(ms / minuteMs) * minuteMs
  const [hours, minutes] = from.split(':').map(Number) as [number, number]
  const today = Math.floor(clock(at) / dayMs) * dayMs
  for (let i = -2; i <= after; i++) {
    const day = today + i * dayMs
    // `getUTCDay` counts from Sunday.
    if (!days.includes(weekdays[(new Date(day).getUTCDay() + 6) % 7]!)) continue
    const wanted = day + (hours * 60 + minutes) * minuteMs
    const before = aheadOfUtc(wanted - dayMs)
    const later = aheadOfUtc(wanted + dayMs)
    const isLater = before !== later && clock(wanted - before) !== wanted
    yield isLater && clock(wanted - later) === wanted ? wanted - later : wanted - before
  }
}

/** Whether the window is open at this time. */
export function isOpen(window: MaintenanceWindow, at: Date): boolean {
  const now = at.getTime()
  for (const opening of openings(window, now, 1))
    if (opening <= now && now < opening + window.minutes * minuteMs) return true
  return false
}

/** When the window closes that is open at this time; null if none is. */
export function closingAt(window: MaintenanceWindow, at: Date): Date | null {
  const now = at.getTime()
  const closings = [...openings(window, now, 1)].flatMap((opening) => {
    const closing = opening + window.minutes * minuteMs
    return opening <= now && now < closing ? [closing] : []
  })
  return closings.length === 0 ? null : new Date(Math.max(...closings))
}

/** When the window opens next; `at` itself if it is open. */
export function nextOpening(window: MaintenanceWindow, at: Date): Date {
  const now = at.getTime()
  for (const opening of openings(window, now, 8))
    if (now < opening + window.minutes * minuteMs) return opening <= now ? at : new Date(opening)
  throw new Error('A window without days never opens')
}
