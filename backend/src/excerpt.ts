/**
 * Excerpts of large texts, and objects of the audit log whose large texts are excerpts. Both have a
 * bound in bytes (`contract/bounds`).
 */
import { createHash } from 'node:crypto'
import { mostRecordedBytes } from '#contract/audit.ts'
import { type Excerpt, excerptBytes } from '#contract/bounds/excerpt.ts'
import { startOf } from '#contract/bounds/text.ts'

export const excerptOf = (text: string): Excerpt => ({
  bytes: Buffer.byteLength(text),
  sha256: createHash('sha256').update(text).digest('hex'),
  start: startOf(text, excerptBytes),
})

/** Whether the text is longer than an excerpt shows. */
const isLong = (text: string): boolean => startOf(text, excerptBytes).length < text.length

const shortened = (value: unknown): unknown => {
  if (typeof value === 'string') return isLong(value) ? excerptOf(value) : value
  if (Array.isArray(value)) return value.map(shortened)
  // A time is written by its own rule.
  if (typeof value !== 'object' || value === null || 'toJSON' in value) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, shortened(inner)]))
}

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value) ?? '')

/**
 * What the audit log records of an object: at most `mostRecordedBytes` as JSON. An excerpt stands
 * for each text longer than 4 KiB, and if that isn't enough, for the JSON of the largest fields, at
 * last of the whole object (`{ object }`). A recorded object stays as it is.
 */
export function recorded(object: object): object {
  const plain = JSON.stringify(object)
  if (Buffer.byteLength(plain) <= mostRecordedBytes && plain.length <= excerptBytes) return object
  const fields = shortened(object) as Record<string, unknown>
  let bytes = bytesOf(fields)
  const largest = Object.entries(fields)
    .map(([key, value]) => ({ key, size: bytesOf(value) }))
    .toSorted((a, b) => b.size - a.size)
  for (const { key, size } of largest) {
    if (bytes <= mostRecordedBytes) return fields
    const excerpt = excerptOf(JSON.stringify(fields[key] ?? null))
    const saved = size - bytesOf(excerpt)
    if (saved <= 0) break
    fields[key] = excerpt
    bytes -= saved
  }
  return bytes <= mostRecordedBytes ? fields : { object: excerptOf(plain) }
}
