import * as z from 'zod/mini'

/** The one shape of every list. `page` counts from 1; `total` is the number of matches, not of rows on the page. */
export const pageOf = <T extends z.core.$ZodType>(item: T) => z.object({ items: z.array(item), page: z.int(), per_page: z.int(), total: z.int() })

export interface Page<T> {
  items: T[]
  page: number
  per_page: number
  total: number
}

/**
 * A whole number in a query, written in decimal digits alone: `0x1`, `1e1`, `+1`, ` 1` and `01` are none, though JavaScript would read a number there.
 * @param least smallest that is allowed
 * @param most largest that is allowed
 */
export const wholeInQuery = (least: number, most: number) =>
  z.pipe(
    z.transform((given: number | string) => (typeof given === 'number' ? given : /^(?:0|-?[1-9]\d{0,14})$/.test(given) ? Number(given) : NaN)),
    z.int().check(z.gte(least), z.lte(most)),
  )

/** Query of a list; exact filters come beside it. `sort` is a column, descending with a leading minus; absent, the order that the call's summary names, or the first column. */
export const listQuery = <const Column extends string>(columns: readonly Column[], perPage = 50) => ({
  q: z.optional(z.string().check(z.trim(), z.maxLength(200))),
  sort: z.optional(z.enum(columns.flatMap((c): (Column | `-${Column}`)[] => [c, `-${c}`]))),
  page: z._default(wholeInQuery(1, 1_000_000), 1),
  per_page: z._default(wholeInQuery(1, 1000), perPage),
})

/** The order that is asked for, or else the usual one of the list. */
export function orderOf<Sort extends string>(sort: Sort | undefined, usual: NoInfer<Sort>): { column: Exclude<Sort, `-${string}`>; direction: 'asc' | 'desc' } {
  const wanted = sort ?? usual
  const isDown = wanted.startsWith('-')
  return { column: (isDown ? wanted.slice(1) : wanted) as Exclude<Sort, `-${string}`>, direction: isDown ? 'desc' : 'asc' }
}

/** Path parameters of a call about one object. */
export const byId = z.strictObject({ id: z.uuid() })

/** ISO 8601 in UTC. */
export const time = z.iso.datetime()
