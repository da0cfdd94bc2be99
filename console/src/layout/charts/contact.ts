/** What the contacts with a server say over time. Pure. */

/** A time in which a server didn't answer every contact. In ms since 1970. */
export interface Silence {
  readonly from: number
  readonly to: number
  /** Whether it answered some contacts. */
  readonly isPartial: boolean
}

export interface ContactOverTime {
  /** Part of the contacts that were answered, from 0 to 1; null if there were none. */
  readonly answered: number | null
  /** Parts of the period, each with the part that was answered; null without contacts. */
  readonly cells: readonly (number | null)[]
  /** The newest first. */
  readonly silences: readonly Silence[]
}

/** Idle servers are contacted every two minutes: so much without a contact says nothing. */
const mostGapMs = 5 * 60_000

const meanOf = (values: readonly number[]): number | null =>
  values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length
const isKnown = (value: number | null): value is number => value !== null

function silencesOf(
  values: readonly (number | null)[],
  { from, stepMs }: { readonly from: number; readonly stepMs: number },
): Silence[] {
  const silences: Silence[] = []
  let isOpen = false
  for (const [i, value] of values.entries()) {
    if (value === null) continue
    const [start, end] = [from + i * stepMs, from + (i + 1) * stepMs]
    const last = silences.at(-1)
    if (value === 1) {
      // It was silent until it answered again.
      if (isOpen && last && start - last.to <= mostGapMs)
        silences[silences.length - 1] = { ...last, to: start }
      isOpen = false
      continue
    }
    const isPartial = value > 0
    if (isOpen && last && start - last.to <= mostGapMs)
      silences[silences.length - 1] = {
        ...last,
        to: end,
        isPartial: last.isPartial || isPartial,
      }
    else silences.push({ from: start, to: end, isPartial })
    isOpen = true
  }
  return silences.toReversed()
}

/**
 * @param values part of the contacts that were answered, by step; null without a contact
 * @param period start and length of the steps in ms
 */
export function contactOver(
  values: readonly (number | null)[],
  period: { readonly from: number; readonly stepMs: number },
  cells: number,
): ContactOverTime {
  const per = Math.max(1, Math.ceil(values.length / cells))
  return {
    answered: meanOf(values.filter(isKnown)),
    cells: Array.from({ length: Math.ceil(values.length / per) }, (_, i) =>
      meanOf(values.slice(i * per, (i + 1) * per).filter(isKnown)),
    ),
    silences: silencesOf(values, period),
  }
}

/** "98.2 %", and 100 % only if every contact was answered. */
export const shareText = (share: number): string => `${Math.floor(share * 1000) / 10}\u00a0%`
