/** What is measured of each kind of object, in the order in which values are stored. */
import {
  capacitySeries,
  clusterSeries,
  namesOf,
  serverSeries,
} from '#contract/measurements/measurements.ts'
import type { Figures } from './rates.ts'

export const seriesOf = {
  server: serverSeries,
  cluster: clusterSeries,
  capacity: capacitySeries,
} as const
export type Kind = keyof typeof seriesOf
export type Names<K extends Kind> = keyof (typeof seriesOf)[K] & string

/** All servers together are one object. */
export const allServers = '00000000-0000-0000-0000-000000000000'

/** Most series that an object of any kind has. */
export const mostSeries = Math.max(...Object.values(seriesOf).map((one) => namesOf(one).length))

/** Values by name in the order in which they are stored. */
export const figuresOf = <K extends Kind>(
  kind: K,
  values: Readonly<Partial<Record<Names<K>, number | null>>>,
): Figures => namesOf(seriesOf[kind]).map((name) => values[name as Names<K>] ?? null)
