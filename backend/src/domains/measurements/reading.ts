/** Reads the values of one object over time, by the minute or in longer steps. */
import { Problem } from '#contract/errors.ts'
import {
  dayMs,
  minuteMs,
  minutesKeptMs,
  type Measurements,
  namesOf,
  quarterMs,
  quartersKeptMs,
  stepOf,
} from '#contract/measurements/measurements.ts'
import type { Platform } from '../../platform.ts'
import { type Quarter, unpackDay } from './packing.ts'
import type { Figures } from './rates.ts'
import { type Kind, type Names, seriesOf } from './series.ts'
import * as store from './store.ts'
import { dayOf, floor } from './times.ts'

interface Step {
  readonly mean: Figures
  readonly max: Figures
}

/** A period in ms since 1970, from the start of its first step, and its values by step. */
interface Steps {
  readonly from: number
  readonly to: number
  readonly stepMs: number
  readonly steps: ReadonlyMap<number, Step>
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
  const byMinute = async (id: string, from: number, to: number): Promise<Steps> => {
    const start = floor(from, minuteMs)
    const rows = await store.minutesOf(db, id, new Date(start), new Date(to))
    const steps = rows.map(
      ({ at, figures }) => [at.getTime(), { mean: figures, max: figures }] as const,
    )
    return { from: start, to, stepMs: minuteMs, steps: new Map(steps) }
  }

  const byQuarter = async (
    id: string,
    { from, to, stepMs, series }: Omit<Steps, 'steps'> & { readonly series: number },
  ): Promise<Steps> => {
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
    return { from: start, to, stepMs, steps }
  }

  /**
   * The steps at equal distances, with null for those without values.
   * @param usual length in ms of the period if it has no start
   * @throws Problem invalid
   */
  return async <K extends Kind>(kind: K, id: string, asked: Period, usual = dayMs) => {
    const now = clock.now()
    const to = Math.min(now, asked.to === undefined ? now : Date.parse(asked.to))
    const from = asked.from === undefined ? to - usual : Date.parse(asked.from)
    if (from > to)
      throw new Problem('invalid', 'The start lies after the end', {
        from: 'The start lies after the end',
      })
    const kept = Math.max(from, now - quartersKeptMs)
    const names = namesOf(seriesOf[kind])
    const isByMinute = asked.step === undefined && now - from <= minutesKeptMs + quarterMs
    const found = isByMinute
      ? await byMinute(id, from, to)
      : await byQuarter(id, {
          from: kept,
          to: Math.max(kept, to),
          stepMs: asked.step === 'day' ? dayMs : stepOf(to - from),
          series: names.length,
        })
    const { stepMs, steps } = found
    const starts = Array.from(
      { length: Math.max(0, Math.ceil((found.to - found.from) / stepMs)) },
      (_, i) => found.from + i * stepMs,
    )
    const simulated = await store.simulatedBefore(db)
    return {
      starts_at: new Date(found.from).toISOString(),
      step_seconds: stepMs / 1000,
      simulated_before:
        simulated !== undefined && simulated.getTime() > found.from
          ? simulated.toISOString()
          : null,
      series: names.map((name, s) => ({
        name: name as Names<K>,
        unit: (seriesOf[kind] as Record<string, Pick<Measurements['series'][number], 'unit'>>)[
          name
        ]!.unit,
        mean: starts.map((at) => steps.get(at)?.mean[s] ?? null),
        max: starts.map((at) => steps.get(at)?.max[s] ?? null),
      })),
    }
  }
}
