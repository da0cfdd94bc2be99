/**
 * The period of the filters Since and Until: ISO 8601 in the URL, the reader's time zone in the
 * form.
 */
import type { ComponentProps } from 'react'
import { exact } from '../../lib/time/time.ts'
import { dialog } from '../../ui/overlay/dialogs.ts'
import type ChoosePeriod from './ChoosePeriod.tsx'

export const choosePeriod = dialog<ComponentProps<typeof ChoosePeriod>>(
  () => import('./ChoosePeriod.tsx'),
)

const two = (n: number) => String(n).padStart(2, '0')

/** The value of an input `datetime-local`, to the minute; '' for no time. */
export function localOf(iso: string | undefined): string {
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

const periods = [
  ['Last hour', 3600_000],
  ['Last 24 hours', 86_400_000],
  ['Last 7 days', 7 * 86_400_000],
  ['Last 30 days', 30 * 86_400_000],
] as const

/**
 * Choices of the filter Since. `now` in ms since 1970: rounded down to the minute, so that the same
 * choice stays chosen while the page is open.
 */
export const sinceChoices = (now: number): { value: string; text: string }[] => {
  const minute = Math.floor(now / 60_000) * 60_000
  return periods.map(([text, ms]) => ({ value: new Date(minute - ms).toISOString(), text }))
}

/** Adds the value in the URL to the choices of a time. */
export const withTime = (
  choices: readonly { value: string; text: string }[],
  value: string | undefined,
) =>
  value === undefined || value === '' || choices.some((c) => c.value === value)
    ? choices
    : [...choices, { value, text: Number.isNaN(Date.parse(value)) ? value : exact(value) }]
