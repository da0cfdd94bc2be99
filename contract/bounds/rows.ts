/**
 * Large fields of rows. They share a number of bytes of the page: beyond it they are left out, and
 * the row names them. No row is ever left out, because lists have page numbers.
 */
import * as z from 'zod/mini'
import { codeText } from './fields.ts'

/** Bytes of JSON that the large fields of a page take together. */
export const mostLargeBytes = 2 * 1024 * 1024

/** Names of the fields that a list has left out of this row; the object's own call has them. */
export const LeftOut = z.optional(z.array(codeText))

/** The large fields of a row, each with the value that stands for what is left out. */
export type Large = Readonly<Record<string, unknown>>
type Row = Readonly<Record<string, unknown>>

/** Makes the function that each row of one page passes in turn. */
export function sharing(large: Large): <T>(row: T) => T {
  const names = Object.keys(large)
  const utf8 = new TextEncoder()
  let bytes = 0
  return (row) => {
    const own = Object.fromEntries(names.map((name) => [name, (row as Row)[name]]))
    const more = utf8.encode(JSON.stringify(own)).length
    if (bytes + more > mostLargeBytes) return { ...row, ...large, left_out: names }
    bytes += more
    return row
  }
}

/** Rows of a page. @param large of the rows, if they have such fields */
export const rowsOf = <T extends z.core.$ZodType>(item: T, large: Large | undefined) =>
  large === undefined
    ? z.array(item)
    : z
        .array(item)
        .check(
          z.overwrite(Object.assign((rows: z.output<T>[]) => rows.map(sharing(large)), { large })),
        )
