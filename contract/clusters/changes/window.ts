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
  from: z
    .string()
    .check(
      z.maxLength(5, 'Enter a time such as 02:30'),
      z.regex(/^(?:[01]\d|2[0-3]):[0-5]\d$/, 'Enter a time such as 02:30'),
    ),
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
