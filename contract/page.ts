import * as z from 'zod/mini'
import { type Large, rowsOf } from './bounds/rows.ts'

/**
 * The format of every list. `page` counts from 1; `total` is the number of matches, not of rows on
 * the page. `large`: the large fields of the rows (`bounds/rows.ts`).
 */
export const pageOf = <T extends z.core.$ZodType>(item: T, large?: Large) =>
  z.object({ items: rowsOf(item, large), page: z.int(), per_page: z.int(), total: z.int() })

export interface Page<T> {
  items: T[]
  page: number
  per_page: number
  total: number
}

/**
 * A whole number in a query, written only in decimal digits: `0x1`, `1e1`, `+1`, ` 1` and `01` are
 * refused, although JavaScript reads them as numbers.
 * @param least smallest allowed number
 * @param most largest allowed number
 */
export const wholeInQuery = (least: number, most: number) =>
  z.pipe(
    z.transform((given: number | string) =>
      typeof given === 'number'
        ? given
        : /^(?:0|-?[1-9]\d{0,14})$/.test(given)
          ? Number(given)
          : NaN,
    ),
    z.int().check(z.gte(least), z.lte(most)),
  )

/** Path parameters of a call about one object. */
export const byId = z.strictObject({ id: z.uuid() })

/** ISO 8601 in UTC. */
export const time = z.iso.datetime()

/** Fields of every object that users change. `version` counts the changes. */
export const changed = { version: z.int(), created_at: time, updated_at: time }

/** A whole number from `least` to `most`; `sentence` is the message for any other value. */
export const wholeIn = (least: number, most: number, sentence: string) =>
  z.int(sentence).check(z.gte(least, sentence), z.lte(most, sentence))
