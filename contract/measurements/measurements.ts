/**
 * Figures over time: how much of a server is in use. A day is kept by the minute, a year by 15
 * minutes. Longer periods are answered in longer steps.
 */
import * as z from 'zod/mini'
import { operation, type Words } from '../operation.ts'
import { byId, time } from '../page.ts'

/** `share`: 0 to 1. `rate`: bytes per second. */
export type Unit = 'share' | 'rate'

/**
 * What is measured of a server. Values are stored in this order, so a new row goes to the end and
 * no row is removed.
 */
export const serverSeries = {
  cpu: { title: 'Processors', unit: 'share' },
  memory: { title: 'Memory', unit: 'share' },
  disk_read: { title: 'Read from disks', unit: 'rate' },
  disk_written: { title: 'Written to disks', unit: 'rate' },
  received: { title: 'Received', unit: 'rate' },
  sent: { title: 'Sent', unit: 'rate' },
} as const satisfies Readonly<Record<string, { readonly title: string; readonly unit: Unit }>>
export type ServerSeries = keyof typeof serverSeries
export const serverSeriesNames = Object.keys(serverSeries) as [ServerSeries, ...ServerSeries[]]

export const minuteMs = 60_000
export const quarterMs = 15 * minuteMs
export const dayMs = 24 * 60 * minuteMs
/** How long values of single minutes are kept at least, and the means of 15 minutes. */
export const minutesKeptMs = dayMs
export const quartersKeptMs = 365 * dayMs
/** A chart has few more pixels, and the values of a year in steps of 15 minutes take 3 MB. */
const mostSteps = 1_500
const stepsMs = [quarterMs, 4 * quarterMs, dayMs / 4] as const
/** The length of the steps in which a period is answered that isn't answered by the minute. */
export const stepOf = (periodMs: number): number =>
  stepsMs.find((step) => periodMs / step <= mostSteps) ?? dayMs

const values = z.array(z.nullable(z.number()))
export const Measurements = z.object({
  /** Start of the first step. The values of a step follow at equal distances. */
  starts_at: time,
  step_seconds: z.int(),
  series: z.array(
    z.object({
      name: z.enum(serverSeriesNames),
      /** `share` is 0 to 1, `rate` is bytes per second. */
      unit: z.enum(['share', 'rate']),
      /** One value per step; null where nothing was measured. */
      mean: values,
      /** The highest minute of each step. */
      max: values,
    }),
  ),
})
export type Measurements = z.infer<typeof Measurements>

export const serverMeasurements = operation(
  'serverMeasurements',
  'GET /v1/nodes/{id}/measurements',
  'servers:read',
  {
    summary:
      'How much of a server is in use over time: processors, memory, disks and links. By the minute if `from` is at most a day ago, else means and maxima of 15 minutes, an hour or six hours, so that there are at most 1,500. Measured only while the server runs in a cluster.',
    params: byId,
    query: z.strictObject({ from: z.optional(time), to: z.optional(time) }),
    errors: ['invalid'],
    answer: Measurements,
  },
)

/** Words for the API documentation. */
export const words: Words = {
  objects: { Measurements: [Measurements, 'Values over time, in steps of equal length.'] },
  fields: {
    'serverMeasurements.from': 'Start, by default a day before `to`.',
    'serverMeasurements.to': 'End, by default now.',
  },
}
