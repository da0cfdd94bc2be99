/** What the imports of CSV files have in common: the body, and the answer for each line. */
import * as z from 'zod/mini'

export const importLimits = { bytes: 1024 * 1024, rows: 5000 } as const

export const tooLargeImport = 'A file is at most 1 MiB'

export const importBody = z.strictObject({
  csv: z
    .string()
    .check(z.minLength(1, 'The file is empty'), z.maxLength(importLimits.bytes, tooLargeImport)),
  dry_run: z._default(z.boolean(), false),
})

/** What an import does with the object of a row. */
export const importDoes = z.enum(['create', 'update', 'nothing'])
export type ImportDoes = z.infer<typeof importDoes>

/** Line of the text, counted from 1 including the header. A null column means the whole row. */
const ImportProblem = z.object({
  line: z.int(),
  column: z.nullable(z.string()),
  message: z.string(),
})
export type ImportProblem = z.infer<typeof ImportProblem>

/**
 * The answer of an import. Nothing is written if there is a problem.
 * @param own further fields of a row
 */
export const importAnswer = <Own extends z.core.$ZodShape>(own: Own) =>
  z.object({
    written: z.boolean(),
    rows: z.array(z.object({ line: z.int(), name: z.string(), ...own, does: importDoes })),
    problems: z.array(ImportProblem),
  })
