/** SQL for measurements. Days are those of UTC, as `2026-11-27`. */
import { sql } from 'kysely'
import type { Db, Tx } from '../../db/db.ts'
import type { Quarter } from './packing.ts'
import type { Figures } from './rates.ts'

type On = Db | Tx

export interface Minute {
  readonly objectId: string
  readonly at: Date
  readonly figures: Figures
}

/** Of two values of one minute the first stays. */
export const insertMinutes = (db: On, minutes: readonly Minute[]) =>
  sql`insert into measurement_minute (object_id, at, figures)
    select (m->>'id')::uuid, (m->>'at')::timestamptz, array(select v::real from jsonb_array_elements_text(m->'figures') v)
    from jsonb_array_elements(${JSON.stringify(minutes.map(({ objectId: id, at, figures }) => ({ id, at, figures })))}::jsonb) m
    on conflict do nothing`.execute(db)

/**
 * The values of each minute as JSON, an array for each series, with null where nothing was
 * measured. PostgreSQL writes them, because 1,440 rows cost many times more to read than one.
 * @param from start of a minute; the last minute begins before `to`
 */
export async function minutesAsJson(
  on: On,
  objectId: string,
  { from, to, series }: { readonly from: Date; readonly to: Date; readonly series: number },
): Promise<string[]> {
  const each = Array.from(
    { length: series },
    (_, s) =>
      sql`'[' || coalesce(string_agg(coalesce(m.figures[${sql.lit(s + 1)}]::text, 'null'), ',' order by g), '') || ']' as ${sql.raw(`s${s}`)}`,
  )
  const { rows } = await sql<Record<string, string>>`select ${sql.join(each)}
    from generate_series(${from}::timestamptz, ${to}::timestamptz - interval '1 millisecond', interval '1 minute') g
    left join measurement_minute m on m.at = g and m.object_id = ${objectId} and m.at >= ${from} and m.at < ${to}`.execute(
    on,
  )
  return Array.from({ length: series }, (_, s) => rows[0]![`s${s}`]!)
}

/**
 * Means and maxima of a part of a day that is kept by the minute.
 * @param ids of objects; `series`: how many at most. Those that an object doesn't have are null.
 */
export async function quartersOf(
  on: On,
  ids: readonly string[],
  day: string,
  series: number,
): Promise<ReadonlyMap<string, (Quarter & { series: number })[]>> {
  const each = (what: 'avg' | 'max') =>
    sql.join(
      Array.from({ length: series }, (_, s) => sql`${sql.raw(what)}(figures[${sql.lit(s + 1)}])`),
    )
  const { rows } = await sql<{
    object_id: string
    quarter: number
    mean: (number | null)[]
    max: (number | null)[]
    series: number
  }>`select object_id, floor(extract(epoch from at - (${day}::date at time zone 'UTC')) / 900)::int as quarter,
      array[${each('avg')}] as mean, array[${each('max')}]::float8[] as max, max(cardinality(figures)) as series
    from measurement_minute
    where object_id = any(${ids}::uuid[]) and at >= ${day}::date at time zone 'UTC' and at < (${day}::date + 1) at time zone 'UTC'
    group by object_id, quarter order by quarter`.execute(on)
  return Map.groupBy(rows, (row) => row.object_id)
}

/** Objects with minutes of this day. */
export const objectsOf = async (on: On, day: string): Promise<string[]> =>
  (
    await sql<{ object_id: string }>`select distinct object_id from measurement_minute
      where at >= ${day}::date at time zone 'UTC' and at < (${day}::date + 1) at time zone 'UTC'`.execute(
      on,
    )
  ).rows.map((row) => row.object_id)

/**
 * Some day before this one that is kept by the minute; undefined if there is none. Not the first
 * one, because the index on the time (BRIN) finds no order.
 */
export const someDayBefore = async (on: On, day: string): Promise<string | undefined> =>
  (
    await sql<{
      day: string
    }>`select to_char(at at time zone 'UTC', 'YYYY-MM-DD') as day from measurement_minute where at < ${day}::date at time zone 'UTC' limit 1`.execute(
      on,
    )
  ).rows[0]?.day

/** A packed day, in place of one that is there. */
export const putDay = (tx: Tx, object_id: string, day: string, packed: Buffer) =>
  sql`insert into measurement_day (object_id, day, packed) values (${object_id}, ${day}::date, ${packed})
    on conflict (object_id, day) do update set packed = excluded.packed`.execute(tx)

/** This day of these objects, of those that have it. */
export const packedOf = async (
  tx: Tx,
  ids: readonly string[],
  day: string,
): Promise<ReadonlyMap<string, Buffer>> =>
  new Map(
    (
      await sql<{
        object_id: string
        packed: Buffer
      }>`select object_id, packed from measurement_day where object_id = any(${ids}::uuid[]) and day = ${day}::date`.execute(
        tx,
      )
    ).rows.map(({ object_id, packed }) => [object_id, packed]),
  )

export const removeMinutes = (tx: Tx, ids: readonly string[], day: string) =>
  sql`delete from measurement_minute where object_id = any(${ids}::uuid[]) and at >= ${day}::date at time zone 'UTC' and at < (${day}::date + 1) at time zone 'UTC'`.execute(
    tx,
  )

/** The packed days of an object, by day. */
export const daysOf = async (
  on: On,
  objectId: string,
  from: string,
  to: string,
): Promise<{ day: string; packed: Buffer }[]> =>
  (
    await sql<{
      day: string
      packed: Buffer
    }>`select to_char(day, 'YYYY-MM-DD') as day, packed from measurement_day
      where object_id = ${objectId} and day between ${from}::date and ${to}::date order by day`.execute(
      on,
    )
  ).rows

export const forgetDays = (db: Db, before: string) =>
  sql`delete from measurement_day where day < ${before}::date`.execute(db)

/** Before which time values were made up by the simulation; undefined if none were. */
export const simulatedBefore = async (on: On): Promise<Date | undefined> =>
  (await on.selectFrom('measurement_simulated').select('before').executeTakeFirst())?.before

/** Returns whether nothing was made up before. */
export const noteSimulated = async (tx: Tx, before: Date): Promise<boolean> =>
  (await tx
    .insertInto('measurement_simulated')
    .values({ before })
    .onConflict((on) => on.doNothing())
    .returning('before')
    .executeTakeFirst()) !== undefined
