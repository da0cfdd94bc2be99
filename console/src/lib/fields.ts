import type * as z from 'zod/mini'

/** What a form makes of its values: what is sent, or the first sentence per field. */
export type Read<Body> = { ok: true; body: Body } | { ok: false; fields: Readonly<Record<string, string>> }

/** Reads what is asked by the schema of the call that it goes into. Nested fields by their path with dots. `more`: sentences that the schema does not know; they come first. */
export function readBy<Schema extends z.core.$ZodType>(schema: Schema, asked: unknown, more: Readonly<Record<string, string>> = {}): Read<z.output<Schema>> {
  const read = schema['~standard'].validate(asked)
  if (read instanceof Promise) throw new TypeError('A schema of the contract decides at once')
  const fields: Record<string, string> = { ...more }
  for (const { path = [], message, ...more } of read.issues ?? []) {
    // What is wrong with a key is said inside of the issue.
    const [inner] = (more as { issues?: readonly { message: string }[] }).issues ?? []
    fields[path.map((part) => (typeof part === 'object' ? part.key : part)).join('.')] ??= inner?.message ?? message
  }
  return read.issues === undefined && Object.keys(more).length === 0 ? { ok: true, body: read.value } : { ok: false, fields }
}

/** The sentences alone; none where all is well. */
export function fieldErrors(schema: z.core.$ZodType, asked: unknown): Readonly<Record<string, string>> {
  const read = readBy(schema, asked)
  return read.ok ? {} : read.fields
}
