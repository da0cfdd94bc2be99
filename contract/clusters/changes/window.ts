/** Maintenance windows of clusters: weekly times in which scheduled changes may begin. */
import type { Words } from '../../operation.ts'
import * as z from 'zod/mini'

export const weekdays = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const
export type Weekday = (typeof weekdays)[number]

const isTimeZone = (name: string): boolean => {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== ''
  } catch {
    return false
  }
}

export const MaintenanceWindow = z.strictObject({
  /** Days on which the window opens. */
  days: z.array(z.enum(weekdays)).check(z.minLength(1, 'Choose at least one day'), z.maxLength(7)),
  /** Local time at which the window opens: `02:30`. */
  from: z.string().check(z.regex(/^(?:[01]\d|2[0-3]):[0-5]\d$/, 'Enter a time such as 02:30')),
  /** How long the window is open. It may end on the next day. */
  minutes: z
    .int()
    .check(
      z.gte(15, 'A window is open for at least 15 minutes'),
      z.lte(1440, 'A window is open for at most 24 hours'),
    ),
  /** IANA name: `Europe/Warsaw`. */
  time_zone: z
    .string()
    .check(
      z.maxLength(64),
      z.refine(isTimeZone, { error: 'Enter a time zone such as Europe/Warsaw or UTC' }),
    ),
})
export type MaintenanceWindow = z.infer<typeof MaintenanceWindow>

const minutesOfWeek = 7 * 1440

/** Minutes since Monday 00:00 at this time in the window's time zone. */
function minuteOfWeek(at: Date, timeZone: string): number {
  const parts = new Intl.DateTimeFormat('en-US', {
    timeZone,
    weekday: 'short',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  }).formatToParts(at)
  const part = (type: string): string => parts.find((p) => p.type === type)?.value ?? ''
  const day = weekdays.indexOf(part('weekday').toLowerCase() as Weekday)
  return day * 1440 + Number(part('hour')) * 60 + Number(part('minute'))
}

const openings = ({ days, from }: MaintenanceWindow): number[] => {
  const [hours, minutes] = from.split(':').map(Number) as [number, number]
  return days.map((day) => weekdays.indexOf(day) * 1440 + hours * 60 + minutes)
}
const ahead = (from: number, to: number): number => (to - from + minutesOfWeek) % minutesOfWeek

/** Whether the window is open at this time. */
export function isOpen(window: MaintenanceWindow, at: Date): boolean {
  const now = minuteOfWeek(at, window.time_zone)
  return openings(window).some((opening) => ahead(opening, now) < window.minutes)
}

/**
 * When the window opens next; `at` itself if it is open. If daylight saving time starts or ends in
 * between, the result is an hour off: check `isOpen` at that time.
 */
export function nextOpening(window: MaintenanceWindow, at: Date): Date {
  if (isOpen(window, at)) return at
  const now = minuteOfWeek(at, window.time_zone)
  const minutes = Math.min(
    ...openings(window).map((opening) => ahead(now, opening) || minutesOfWeek),
  )
  return new Date(Math.floor(at.getTime() / 60_000) * 60_000 + minutes * 60_000)
}

const dayNames: Record<Weekday, string> = {
  mon: 'Mon',
  tue: 'Tue',
  wed: 'Wed',
  thu: 'Thu',
  fri: 'Fri',
  sat: 'Sat',
  sun: 'Sun',
}
/** `Sat, Sun 02:30 for 4 h, Europe/Warsaw` */
export const windowText = ({ days, from, minutes, time_zone }: MaintenanceWindow): string =>
  `${weekdays
    .filter((day) => days.includes(day))
    .map((day) => dayNames[day])
    .join(
      ', ',
    )} ${from} for ${minutes % 60 === 0 ? `${minutes / 60} h` : `${minutes} min`}, ${time_zone}`

/** Words for the API documentation. */
export const words: Words = {
  objects: {
    MaintenanceWindow: [
      MaintenanceWindow,
      'Weekly times in which scheduled changes of a cluster run.',
    ],
  },
}
