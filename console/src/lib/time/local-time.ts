/** Between ISO 8601 in UTC, as the API has it, and inputs `datetime-local` in the reader's time zone. */
import { two } from './clock.ts'

/** The value of an input `datetime-local`, to the minute: "2027-02-14T08:30". '' for no time. */
export function localOf(iso: string | null | undefined): string {
  const at = new Date(iso ?? '')
  if (Number.isNaN(at.getTime())) return ''
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}T${two(at.getHours())}:${two(at.getMinutes())}`
}

/**
 * The time in an input `datetime-local`, in ISO 8601 and UTC; undefined if the input is empty or
 * incomplete.
 */
export function isoOf(local: string): string | undefined {
  const at = new Date(/^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(local) ? local : Number.NaN)
  return Number.isNaN(at.getTime()) ? undefined : at.toISOString()
}
