/**
 * Figures over time of servers. The contact loop notes what it reads. Values of minutes are folded
 * to means and maxima of 15 minutes when their day is over for a day, so the last 24 hours are
 * always there by the minute.
 */
import {
  dayMs,
  type Measurements as Answer,
  minuteMs,
  minutesKeptMs,
  quarterMs,
  quartersKeptMs,
  stepOf,
  serverMeasurements,
  serverSeries,
  serverSeriesNames,
} from '#contract/measurements/measurements.ts'
import { Problem } from '#contract/errors.ts'
import type { Input } from '#contract/operation.ts'
import type { Usage } from '#talos/client/usage.ts'
import { inTransaction } from '../../db/db.ts'
import { serve } from '../../http/serve.ts'
import type { Domain, Platform } from '../../platform.ts'
import type { Servers } from '../servers/api.ts'
import type { Measurements } from './api.ts'
import { packDay, type Quarter, unpackDay } from './packing.ts'
import { type Figures, figuresBetween } from './rates.ts'
import * as store from './store.ts'

const flushEveryMs = 10_000
/** A reading of a server that has been silent this long is no longer compared. */
const rememberedMs = 10 * minuteMs
/** Objects that are folded in one transaction. */
const foldedAtOnce = 100
const series = serverSeriesNames.length

/** The day in UTC, as `2026-11-27`. */
const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10)
const floor = (ms: number, step: number): number => Math.floor(ms / step) * step

interface Step {
  readonly mean: Figures
  readonly max: Figures
}

/** The steps at equal distances, with null for those without values. */
function answerOf(
  from: number,
  to: number,
  stepMs: number,
  steps: ReadonlyMap<number, Step>,
): Answer {
  const starts = Array.from(
    { length: Math.max(0, Math.ceil((to - from) / stepMs)) },
    (_, i) => from + i * stepMs,
  )
  return {
    starts_at: new Date(from).toISOString(),
    step_seconds: stepMs / 1000,
    series: serverSeriesNames.map((name, s) => ({
      name,
      unit: serverSeries[name].unit,
      mean: starts.map((at) => steps.get(at)?.mean[s] ?? null),
      max: starts.map((at) => steps.get(at)?.max[s] ?? null),
    })),
  }
}

/** Several steps as one: the mean of their means, and the highest of their maxima. */
function joined(steps: readonly Step[]): Step {
  const each = (of: (step: Step) => Figures, how: (values: readonly number[]) => number): Figures =>
    serverSeriesNames.map((_, s) => {
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

export function measurements({ db, clock }: Pick<Platform, 'db' | 'clock'>): Measurements {
  const last = new Map<string, { at: number; usage: Usage }>()
  let noted: store.Minute[] = []
  let flushedAt = -Infinity

  return {
    note(objectId, at, usage) {
      const one = { at, usage }
      const figures = figuresBetween(last.get(objectId), one)
      last.set(objectId, one)
      noted.push({ objectId, at: new Date(floor(at, minuteMs)), figures })
    },
    async flush(isLast) {
      if (noted.length === 0 || (!isLast && clock.monotonic() - flushedAt < flushEveryMs)) return
      flushedAt = clock.monotonic()
      const minutes = noted
      noted = []
      for (const [id, { at }] of last) if (at < clock.now() - rememberedMs) last.delete(id)
      // Lost if the database is away: a gap in a chart is true.
      await store.insertMinutes(db, minutes)
    },
  }
}

export function measurementCalls({
  db,
  clock,
  servers,
}: Pick<Platform, 'db' | 'clock'> & { readonly servers: Pick<Servers, 'get'> }): Domain {
  const byMinute = async (id: string, from: number, to: number): Promise<Answer> => {
    const start = floor(from, minuteMs)
    const rows = await store.minutesOf(db, id, new Date(start), new Date(to))
    const steps = rows.map(
      ({ at, figures }) => [at.getTime(), { mean: figures, max: figures }] as const,
    )
    return answerOf(start, to, minuteMs, new Map(steps))
  }

  const byQuarter = async (id: string, from: number, to: number): Promise<Answer> => {
    const stepMs = stepOf(to - from)
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
    const steps = new Map([...within].map(([at, some]) => [at, joined(some)]))
    return answerOf(start, to, stepMs, steps)
  }

  /** @throws Problem not_found, invalid */
  const read = async (
    id: string,
    query: Input<typeof serverMeasurements>['query'],
  ): Promise<Answer> => {
    await servers.get(id)
    const now = clock.now()
    const to = Math.min(now, query.to === undefined ? now : Date.parse(query.to))
    const from = query.from === undefined ? to - dayMs : Date.parse(query.from)
    if (from > to)
      throw new Problem('invalid', 'The start lies after the end', {
        from: 'The start lies after the end',
      })
    const kept = Math.max(from, now - quartersKeptMs)
    return now - from <= minutesKeptMs + quarterMs
      ? byMinute(id, from, to)
      : byQuarter(id, kept, Math.max(kept, to))
  }

  /** Folds the days that are over for a day, one after another. */
  const fold = async (): Promise<void> => {
    const unfolded = dayOf(clock.now() - dayMs)
    for (;;) {
      const day = await store.someDayBefore(db, unfolded)
      if (day === undefined) return
      const ids = await store.objectsOf(db, day)
      for (let at = 0; at < ids.length; at += foldedAtOnce) {
        const some = ids.slice(at, at + foldedAtOnce)
        await inTransaction(db, async (tx) => {
          const quarters = await store.quartersOf(tx, some, day, series)
          for (const id of some)
            await store.insertDay(tx, id, day, packDay(quarters.get(id) ?? [], series))
          await store.removeMinutes(tx, some, day)
        })
      }
    }
  }

  return {
    name: 'measurements',
    routes: (app) => serve(app)(serverMeasurements, ({ params, query }) => read(params.id, query)),
    async removeOld() {
      await fold()
      await store.forgetDays(db, dayOf(clock.now() - quartersKeptMs))
    },
  }
}
