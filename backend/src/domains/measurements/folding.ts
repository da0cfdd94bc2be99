/** Replaces the minutes of days that are over for a day by means and maxima of 15 minutes. */
import { dayMs } from '#contract/measurements/measurements.ts'
import { inTransaction } from '../../db/db.ts'
import type { Platform } from '../../platform.ts'
import { packDay, seriesIn, unpackDay } from './packing.ts'
import { mostSeries } from './series.ts'
import * as store from './store.ts'
import { dayOf } from './times.ts'

/** Objects that are folded in one transaction. */
const foldedAtOnce = 100

/** Folds one day of these objects. */
const foldSome = (db: Platform['db'], ids: readonly string[], day: string): Promise<void> =>
  inTransaction(db, async (tx) => {
    const quarters = await store.quartersOf(tx, ids, day, mostSeries)
    // A clock that was ahead folded a part of the day before: that part stays.
    const before = await store.packedOf(tx, ids, day)
    for (const id of ids) {
      const found = quarters.get(id)
      if (found === undefined) continue
      const packed = before.get(id) ?? Buffer.alloc(0)
      const kept = unpackDay(packed, mostSeries)
      const known = new Set(kept.map(({ quarter }) => quarter))
      const all = [...kept, ...found.filter(({ quarter }) => !known.has(quarter))]
      const series = Math.max(seriesIn(packed), ...found.map((one) => one.series))
      await store.putDay(tx, id, day, packDay(all, series))
    }
    await store.removeMinutes(tx, ids, day)
  })

export async function fold({ db, clock }: Pick<Platform, 'db' | 'clock'>): Promise<void> {
  const unfolded = dayOf(clock.now() - dayMs)
  for (;;) {
    const day = await store.someDayBefore(db, unfolded)
    if (day === undefined) return
    const ids = await store.objectsOf(db, day)
    for (let at = 0; at < ids.length; at += foldedAtOnce)
      await foldSome(db, ids.slice(at, at + foldedAtOnce), day)
  }
}
