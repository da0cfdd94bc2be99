/**
 * Figures over time: how much of a server is in use, and how many servers there are. A day is kept
 * by the minute, a year by 15 minutes. Longer periods are answered in longer steps.
 */
import * as z from 'zod/mini'
import { operation, type Words } from '../operation.ts'
import { byId, time } from '../page.ts'

/** `share`: 0 to 1. `rate`: bytes per second. `count`: a number of things. */
const units = ['share', 'rate', 'bytes', 'seconds', 'count'] as const
type Series = Readonly<
  Record<string, { readonly title: string; readonly unit: (typeof units)[number] }>
>

/**
 * What is measured of a server. Values are stored in this order, so a new row goes to the end and
 * no row is removed. `answered` is the part of the contacts that the server answered, also of one
 * in maintenance mode.
 */
export const serverSeries = {
  cpu: { title: 'Processors', unit: 'share' },
  memory: { title: 'Memory', unit: 'share' },
  disk_read: { title: 'Read from disks', unit: 'rate' },
  disk_written: { title: 'Written to disks', unit: 'rate' },
  received: { title: 'Received', unit: 'rate' },
  sent: { title: 'Sent', unit: 'rate' },
  answered: { title: 'Answered', unit: 'share' },
} as const satisfies Series
export type ServerSeries = keyof typeof serverSeries

/**
 * What is measured of a cluster, as Steelyard sees it. Sizes are those of the largest member of
 * etcd, times those of the slowest machine that answers. Stored like `serverSeries`.
 */
export const clusterSeries = {
  api_seconds: { title: 'Kubernetes API', unit: 'seconds' },
  etcd_seconds: { title: 'etcd', unit: 'seconds' },
  etcd_bytes: { title: 'Size of etcd', unit: 'bytes' },
  etcd_in_use_bytes: { title: 'In use by etcd', unit: 'bytes' },
  nodes_ready: { title: 'Nodes that are Ready', unit: 'count' },
  nodes: { title: 'Nodes', unit: 'count' },
} as const satisfies Series
export type ClusterSeries = keyof typeof clusterSeries

/**
 * What is counted of all servers. A server is in exactly one of the first three states. Compute
 * units are those of servers with known hardware. Stored like `serverSeries`.
 */
export const capacitySeries = {
  in_clusters: { title: 'In clusters', unit: 'count' },
  free: { title: 'Free', unit: 'count' },
  not_well: { title: 'Not well', unit: 'count' },
  servers: { title: 'Servers', unit: 'count' },
  units_in_clusters: { title: 'Compute units in clusters', unit: 'count' },
  units_free: { title: 'Free compute units', unit: 'count' },
  units_committed: { title: 'Compute units committed', unit: 'count' },
  units_uncommitted: { title: 'Compute units without commitment', unit: 'count' },
} as const satisfies Series
export type CapacitySeries = keyof typeof capacitySeries

export const namesOf = <S extends Series>(series: S) =>
  Object.keys(series) as [keyof S & string, ...(keyof S & string)[]]

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
const measurementsOf = <S extends Series>(series: S) =>
  z.object({
    /** Start of the first step. The values of a step follow at equal distances. */
    starts_at: time,
    step_seconds: z.int(),
    /** Values before this time were made up by the simulation; null if all were measured. */
    simulated_before: z.nullable(time),
    series: z.array(
      z.object({
        name: z.enum(namesOf(series)),
        /** `share` is 0 to 1, `rate` is bytes per second. */
        unit: z.enum(units),
        /** One value per step; null where nothing was measured. */
        mean: values,
        /** The highest minute of each step. */
        max: values,
      }),
    ),
  })
export const Measurements = measurementsOf(serverSeries)
export type Measurements = z.infer<typeof Measurements>
export const ClusterMeasurements = measurementsOf(clusterSeries)
export type ClusterMeasurements = z.infer<typeof ClusterMeasurements>
export const CapacityMeasurements = measurementsOf(capacitySeries)
export type CapacityMeasurements = z.infer<typeof CapacityMeasurements>

const period = { from: z.optional(time), to: z.optional(time) }

export const serverMeasurements = operation(
  'serverMeasurements',
  'GET /v1/nodes/{id}/measurements',
  'servers:read',
  {
    summary:
      'How much of a server is in use over time: processors, memory, disks and links. By the minute if `from` is at most a day ago, else means and maxima of 15 minutes, an hour or six hours, so that there are at most 1,500. How much is in use is measured only while the server runs in a cluster. Which part of the contacts it answered is measured of every server.',
    params: byId,
    query: z.strictObject(period),
    errors: ['invalid'],
    answer: Measurements,
  },
)

export const clusterMeasurements = operation(
  'clusterMeasurements',
  'GET /v1/clusters/{id}/measurements',
  'clusters:read',
  {
    summary:
      'How long the Kubernetes API and etcd of a cluster took to answer Steelyard over time, the size of etcd, and how many nodes were Ready. In steps as long as those of a server. Measured once a minute while the cluster is ready.',
    params: byId,
    query: z.strictObject(period),
    errors: ['invalid'],
    answer: ClusterMeasurements,
  },
)

export const capacityMeasurements = operation(
  'capacityMeasurements',
  'GET /v1/measurements/capacity',
  'servers:read',
  {
    summary:
      'How many servers are in clusters, free and not well over time, and how many compute units are in clusters, free and committed. In steps as long as those of a server, or of a day (UTC). Values of commitments are null while there is none.',
    query: z.strictObject({ ...period, step: z.optional(z.literal('day')) }),
    errors: ['invalid'],
    answer: CapacityMeasurements,
  },
)

/** Words for the API documentation. */
export const words: Words = {
  objects: {
    Measurements: [Measurements, 'Values of a server over time, in steps of equal length.'],
    ClusterMeasurements: [
      ClusterMeasurements,
      'Values of a cluster over time, in steps of equal length.',
    ],
    CapacityMeasurements: [
      CapacityMeasurements,
      'Numbers of servers and compute units over time, in steps of equal length.',
    ],
  },
  fields: {
    'serverMeasurements.from': 'Start, by default a day before `to`.',
    'serverMeasurements.to': 'End, by default now.',
    'clusterMeasurements.from': 'Start, by default a day before `to`.',
    'clusterMeasurements.to': 'End, by default now.',
    'capacityMeasurements.from': 'Start, by default 30 days before `to`.',
    'capacityMeasurements.to': 'End, by default now.',
    'capacityMeasurements.step': '`day`: one step per day, from midnight UTC.',
  },
}
