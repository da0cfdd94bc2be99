/** Exports of lists as CSV: the rows of every page, with the columns that are asked for. */
import * as z from 'zod/mini'
import { type AnyList, meaningsOf, narrowingOf, sortOf } from '../list.ts'
import { type Operation, operation } from '../operation.ts'

/** Columns of a file that names none: those that a list shows by default. */
const columnsOf = (list: AnyList): string[] =>
  Object.entries(list.columns).flatMap(([key, { hidden }]) => (hidden ? [] : [key]))

const listed = (text: string): string[] => text.split(',').map((key) => key.trim())

/** The asked columns in their order, each once. */
export const exportedColumns = (list: AnyList, text: string | undefined): string[] => [
  ...new Set(text === undefined ? columnsOf(list) : listed(text)),
]

const columnsText = ({ columns, nouns }: AnyList) =>
  z.optional(
    z.string().check(
      z.maxLength(1000),
      z.refine((text) => listed(text).every((key) => key === 'id' || Object.hasOwn(columns, key)), {
        error: `The columns of ${nouns[1]} are ${Object.keys(columns).join(', ')}`,
      }),
    ),
  )

/** Declares the call that returns all pages of a list as CSV: `GET {path}/export`. */
export const listExport = <L extends AnyList>(
  { list, path, scope }: Pick<Operation, 'path' | 'scope'> & { readonly list: L },
  name: string,
) => ({
  ...operation(name, `GET ${path}/export`, scope, {
    summary: `The ${list.nouns[1]} of a list as CSV, of all pages. The first column is the id. A cell that a spreadsheet would take for a formula begins with an apostrophe.`,
    query: z.strictObject({
      ...narrowingOf(list),
      sort: sortOf(list),
      columns: columnsText(list),
    }),
    answer: z.string(),
    media: 'text/csv',
  }),
  meanings: {
    ...meaningsOf(list),
    columns: 'Columns, separated by commas. Default: those that the list shows by default.',
  },
})
