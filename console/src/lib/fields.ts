import type * as z from 'zod/mini'

/** Result of reading a form's values: the request body, or the first error sentence per field. */
export type Read<Body> =
  | { ok: true; body: Body }
  | { ok: false; fields: Readonly<Record<string, string>> }

/**
 * Validates the body of a request by the schema of its call. The path of a nested field is joined
 * with dots. `more`: error sentences that the schema can't produce; they take precedence.
 */
export function readBy<Schema extends z.core.$ZodType>(
  schema: Schema,
  asked: unknown,
  more: Readonly<Record<string, string>> = {},
): Read<z.output<Schema>> {
  const read = schema['~standard'].validate(asked)
  if (read instanceof Promise)
    throw new TypeError('A schema of the contract must validate synchronously')
  const fields: Record<string, string> = { ...more }
  for (const { path = [], message, ...more } of read.issues ?? []) {
    // For an invalid key of a record, the actual message is nested inside the issue.
    const [inner] = (more as { issues?: readonly { message: string }[] }).issues ?? []
    fields[path.map((part) => (typeof part === 'object' ? part.key : part)).join('.')] ??=
      inner?.message ?? message
  }
  return read.issues === undefined && Object.keys(more).length === 0
    ? { ok: true, body: read.value }
    : { ok: false, fields }
}

/** Only the error sentences of `readBy`; empty if the input is valid. */
export function fieldErrors(
  schema: z.core.$ZodType,
  asked: unknown,
): Readonly<Record<string, string>> {
  const read = readBy(schema, asked)
  return read.ok ? {} : read.fields
}
