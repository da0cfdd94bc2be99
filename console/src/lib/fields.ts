import * as z from 'zod/mini'

/** The first sentence per field that a form's values break, by the schema of the call that they go into. Nested fields by their path with dots. */
export function fieldErrors(schema: z.core.$ZodType, values: unknown): Record<string, string> {
  const read = z.safeParse(schema, values)
  if (read.success) return {}
  const errors: Record<string, string> = {}
  for (const issue of read.error.issues) errors[issue.path.join('.')] ??= issue.message
  return errors
}
