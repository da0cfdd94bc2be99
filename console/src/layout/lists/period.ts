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
