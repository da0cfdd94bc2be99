/**
 * Writes values of times before the installation began, for the demo. Only an installation with
 * simulated servers has them, and says so (`simulated_before`).
 */
import { dayMs, minuteMs, minutesKeptMs, quarterMs } from '#contract/measurements/measurements.ts'
import type { Platform } from '../../platform.ts'
import type { Measurements, SimulatedObject } from './api.ts'
import { packDay, type Quarter, quartersOfDay } from './packing.ts'
import type { Figures } from './rates.ts'
import { allServers, figuresOf, seriesOf } from './series.ts'
import * as store from './store.ts'
import { dayOf, floor } from './times.ts'

/** Rows that are inserted in one statement. */
const rowsAtOnce = 5_000

/** One object's values by time. */
interface Past {
  readonly id: string
  readonly series: number
  readonly at: (ms: number) => Figures
}

const pastOf = (one: SimulatedObject): Past => {
  const series = Object.keys(seriesOf[one.kind]).length
  const id = one.kind === 'capacity' ? allServers : one.id
  return { id, series, at: (ms) => figuresOf(one.kind, one.at(ms)) }
}

/** Mean and maximum of the minutes of a quarter. */
function quarterOf({ series, at }: Past, start: number): Omit<Quarter, 'quarter'> {
  const minutes = Array.from({ length: quarterMs / minuteMs }, (_, m) => at(start + m * minuteMs))
  const each = (how: (values: readonly number[]) => number): Figures =>
    Array.from({ length: series }, (_, s) => {
      const known = minutes.map((figures) => figures[s] ?? null).filter((value) => value !== null)
      return known.length === 0 ? null : how(known)
    })
  return {
    mean: each((values) => values.reduce((sum, value) => sum + value, 0) / values.length),
    max: each((values) => Math.max(...values)),
  }
}

export const simulatedPast =
  ({ clock, config }: Pick<Platform, 'clock' | 'config'>): Measurements['writePast'] =>
  async (tx, { from, objects }) => {
    if (config.simulate === undefined)
      throw new Error('Only an installation with simulated servers may make up measurements')
    const to = floor(clock.now(), minuteMs)
    const unfolded = floor(clock.now(), dayMs) - dayMs
    const begins = Math.max(floor(from.getTime(), quarterMs), 0)

    const writeDays = async (past: Past) => {
      for (let day = floor(begins, dayMs); day < unfolded; day += dayMs) {
        const quarters = Array.from({ length: quartersOfDay }, (_, quarter) => ({
          quarter,
          start: day + quarter * quarterMs,
        }))
          .filter(({ start }) => start >= begins)
          .map(({ quarter, start }) => ({ quarter, ...quarterOf(past, start) }))
        await store.putDay(tx, past.id, dayOf(day), packDay(quarters, past.series))
      }
    }
    /** The last day by the minute; before it, the mean of each quarter. */
    const minutesOf = (past: Past): store.Minute[] => {
      const byMinute = floor(to - minutesKeptMs, quarterMs) - quarterMs
      const minutes: store.Minute[] = []
      for (
        let ms = Math.max(begins, unfolded);
        ms < to;
        ms += ms < byMinute ? quarterMs : minuteMs
      ) {
        const figures = ms < byMinute ? quarterOf(past, ms).mean : past.at(ms)
        minutes.push({ objectId: past.id, at: new Date(ms), figures })
      }
      return minutes
    }

    if (!(await store.noteSimulated(tx, new Date(to)))) return false
    for (const past of objects.map(pastOf)) {
      await writeDays(past)
      const minutes = minutesOf(past)
      for (let at = 0; at < minutes.length; at += rowsAtOnce)
        await store.insertMinutes(tx, minutes.slice(at, at + rowsAtOnce))
    }
    return true
  }
