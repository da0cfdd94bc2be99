/**
 * Pieces of the schemas of Redfish documents. BMCs leave out fields, send null, empty texts and
 * numbers as texts, so a wrong field is unknown and never fails the document.
 */
import * as z from 'zod/mini'
import { pathOf, printable } from '../client/paths.ts'

/** A field that may be missing, read by a function. */
export const field = <T>(read: (value: unknown) => T) =>
  z.pipe(
    z.optional(z.unknown()),
    z.transform((value): T => read(value)),
  )
const lenient = <T>(read: (value: unknown) => T | null) => field(read)

/** A line of text of at most 200 characters; null if it is missing, empty or no text. */
export const text = lenient((value) => {
  const line = typeof value === 'string' ? printable(value, 200) : ''
  return line === '' ? null : line
})
/** A finite number, also as a text. */
export const number = lenient((value) => {
  const given = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  return typeof given === 'number' && Number.isFinite(given) && Math.abs(given) < 1e15
    ? given
    : null
})
export const flag = lenient((value) => (typeof value === 'boolean' ? value : null))
/** ISO 8601 in UTC. Some BMCs send no zone, or the year 1970 until their clock is set. */
export const moment = lenient((value) => {
  const at = typeof value === 'string' ? Date.parse(value) : NaN
  return Number.isNaN(at) || at > 4e12 ? null : new Date(at).toISOString()
})
/** The path in `{"@odata.id": …}`. */
export const link = lenient((value) =>
  pathOf((value as { '@odata.id'?: unknown } | null)?.['@odata.id']),
)
/** At most 1,000 paths; foreign links are left out. */
export const links = field((value): string[] =>
  (Array.isArray(value) ? (value as unknown[]) : [value])
    .slice(0, 1_000)
    .flatMap((one) => pathOf((one as { '@odata.id'?: unknown } | null)?.['@odata.id']) ?? []),
)
/** At most 64 texts. */
export const texts = lenient((value) =>
  Array.isArray(value)
    ? (value as unknown[])
        .slice(0, 64)
        .flatMap((one) => (typeof one === 'string' ? printable(one, 100) : []))
    : null,
)
/** An object, of which what is missing is unknown. */
export const part = <S extends z.core.$ZodLooseShape>(shape: S) =>
  z.pipe(
    field((value): unknown =>
      typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {},
    ),
    z.object(shape),
  )
/** At most 1,000 objects. */
export const parts = <S extends z.core.$ZodLooseShape>(shape: S) =>
  z.pipe(
    field((value): unknown =>
      Array.isArray(value)
        ? (value as unknown[])
            .slice(0, 1_000)
            .filter((one) => typeof one === 'object' && one !== null && !Array.isArray(one))
        : [],
    ),
    z.array(z.object(shape)),
  )

/** Redfish's `Status.Health`; null if it is not told. */
export type Health = 'ok' | 'warning' | 'critical'
export const health = lenient((value): Health | null => {
  const word = typeof value === 'string' ? value.toLowerCase() : ''
  return word === 'ok' || word === 'warning' || word === 'critical' ? word : null
})
/** `Status`: whether something is there, and how it is. */
export const status = part({ State: text, Health: health, HealthRollup: health })
