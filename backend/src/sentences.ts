/** Times in sentences of operations: clock times in UTC, durations in the largest fitting unit. */
import { enumerated } from '#contract/words.ts'

/** `14:06 UTC` */
export const atTime = (time: Date | number): string =>
  `${new Date(time).toISOString().slice(11, 16)} UTC`

/** `45 s`, `12 min`, `3 h` */
export function lasting(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000))
  if (seconds < 120) return `${seconds} s`
  const minutes = Math.round(seconds / 60)
  return minutes < 120 ? `${minutes} min` : `${Math.round(minutes / 60)} h`
}

/** `a`, `a and b`, `a, b and c`; if there are more than `most` names, the rest is only counted. */
export function listed(names: readonly string[], most = 4): string {
  if (names.length > most)
    return `${names.slice(0, most - 1).join(', ')} and ${names.length - most + 1} more`
  return enumerated(names)
}

/** "All 3 servers answer"; `one` is the sentence for a single one. */
export const allOf = (n: number, several: string, one: string): string =>
  n === 1 ? one : `All ${n} ${several}`

/** "All 3 servers answer" */
export const allAnswer = (n: number): string => allOf(n, 'servers answer', 'The server answers')

/** Silent servers may have changed, too. */
export const noKnownDrift = 'Steelyard knows of no configuration that was changed from outside'

/** `cp-1: no answer; cp-2: no answer`. Above `most` the rest is only counted. */
export const joined = (reasons: readonly string[], most = 4): string =>
  reasons.length > most
    ? `${reasons.slice(0, most - 1).join('; ')}; and ${reasons.length - most + 1} more`
    : reasons.join('; ')
