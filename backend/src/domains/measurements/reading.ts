/** Reads the values of one object over time, by the minute or in longer steps. */
import { Problem } from '#contract/errors.ts'
import {
  dayMs,
  minuteMs,
  minutesKeptMs,
  namesOf,
  quarterMs,
  quartersKeptMs,
  stepOf,
} from '#contract/measurements/measurements.ts'
import { Serialised } from '../../http/serve.ts'
import type { Platform } from '../../platform.ts'
import { type Quarter, unpackDay } from './packing.ts'
import type { Figures } from './rates.ts'
import { type Kind, seriesOf } from './series.ts'
import * as store from './store.ts'
import { dayOf, floor } from './times.ts'

interface Step {
  readonly mean: Figures
  readonly max: Figures
}

/** Steps at equal distances. */
interface Found {
  /** Start of the first step in ms since 1970. */
  readonly from: number
  readonly stepMs: number
  /** For each series an array in JSON, with null for steps without values. */
  readonly mean: readonly string[]
  readonly max: readonly string[]
}

interface Period {
  readonly from?: string | undefined
  readonly to?: string | undefined
  /** Steps of whole days (UTC). */
  readonly step?: 'day' | undefined
}

/** Several steps as one: the mean of their means, and the highest of their maxima. */
function joined(steps: readonly Step[], series: number): Step {
  const each = (of: (step: Step) => Figures, how: (values: readonly number[]) => number): Figures =>
    Array.from({ length: series }, (_, s) => {
      const known = steps.map((step) => of(step)[s] ?? null).filter((value) => value !== null)
      return known.length === 0 ? null : how(known)
    })
  return {
    mean: each(
      ({ mean }) => mean,
      (values) => values.reduce((sum, value) => sum + value, 0) / values.length,
    ),
    max: each(
      ({ max }) => max,
      (values) => Math.max(...values),
    ),
  }
}

export function reading({ db, clock }: Pick<Platform, 'db' | 'clock'>) {
  const byMinute = async (
    id: string,
    { from, to, series }: { readonly from: number; readonly to: number; readonly series: number },
  ): Promise<Found> => {
    const start = floor(from, minuteMs)
    const period = { from: new Date(start), to: new Date(to), series }
    const values = await store.minutesAsJson(db, id, period)
    // The highest minute of a minute is the minute itself.
    return { from: start, stepMs: minuteMs, mean: values, max: values }
  }

  const byQuarter = async (
    id: string,
    {
      from,
      to,
      stepMs,
      series,
    }: {
      readonly from: number
      readonly to: number
      readonly stepMs: number
      readonly series: number
    },
  ): Promise<Found> => {
    const start = floor(from, stepMs)
    const within = new Map<number, Step[]>()
    const add = (day: string, quarters: readonly Quarter[]) => {
      for (const one of quarters) {
        const at = floor(Date.parse(`${day}T00:00:00Z`) + one.quarter * quarterMs, stepMs)
        within.set(at, [...(within.get(at) ?? []), one])
      }
    }
    for (const { day, packed } of await store.daysOf(db, id, dayOf(start), dayOf(to)))
      add(day, unpackDay(packed, series))
    // The days that are not folded yet.
    for (let day = clock.now() - 2 * dayMs; day <= clock.now(); day += dayMs) {
      const name = dayOf(day)
      if (name < dayOf(start) || name > dayOf(to)) continue
      add(name, (await store.quartersOf(db, [id], name, series)).get(id) ?? [])
    }
    const steps = new Map([...within].map(([at, some]) => [at, joined(some, series)]))
    const starts = Array.from(
      { length: Math.max(0, Math.ceil((to - start) / stepMs)) },
      (_, i) => start + i * stepMs,
    )
    const each = (of: (step: Step) => Figures) =>
      Array.from({ length: series }, (_, s) =>
        JSON.stringify(
          starts.map((at) => {
            const step = steps.get(at)
            return step === undefined ? null : (of(step)[s] ?? null)
          }),
        ),
      )
    return {
      from: start,
      stepMs,
      mean: each(({ mean }) => mean),
      max: each(({ max }) => max),
    }
  }

  /**
   * The answer as JSON: one of 20,000 numbers isn't read and written once more.
   * @param usual length in ms of the period if it has no start
   * @throws Problem invalid
   */
  return async (kind: Kind, id: string, asked: Period, usual = dayMs): Promise<Serialised> => {
    const now = clock.now()
    const to = Math.min(now, asked.to === undefined ? now : Date.parse(asked.to))
    const from = asked.from === undefined ? to - usual : Date.parse(asked.from)
    if (from > to)
      throw new Problem('invalid', 'The start lies after the end', {
        from: 'The start lies after the end',
      })
    const kept = Math.max(from, now - quartersKeptMs)
    const names: readonly string[] = namesOf(seriesOf[kind])
    const isByMinute = asked.step === undefined && now - from <= minutesKeptMs + quarterMs
    const found = isByMinute
      ? await byMinute(id, { from, to, series: names.length })
      : await byQuarter(id, {
          from: kept,
          to: Math.max(kept, to),
          stepMs: asked.step === 'day' ? dayMs : stepOf(to - from),
          series: names.length,
        })
    const simulated = await store.simulatedBefore(db)
    const head = {
      starts_at: new Date(found.from).toISOString(),
      step_seconds: found.stepMs / 1000,
      simulated_before:
        simulated !== undefined && simulated.getTime() > found.from
          ? simulated.toISOString()
          : null,
    }
    const units: Readonly<Record<string, { readonly unit: string }>> = seriesOf[kind]
    const series = names.map(
      (name, s) =>
        `{"name":"${name}","unit":"${units[name]!.unit}","mean":${found.mean[s]!},"max":${found.max[s]!}}`,
    )
    return new Serialised(`${JSON.stringify(head).slice(0, -1)},"series":[${series.join(',')}]}`)
  }
}
