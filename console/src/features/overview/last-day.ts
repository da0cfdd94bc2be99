/** Words and periods of what happened in the last 24 hours. */
import type { HistoryDigest } from '#contract/history/digest.ts'
import { outcomes as outcomesOf } from '#contract/history/outcomes.ts'
import { count } from '#contract/words.ts'

/** "2 lost, 1 regained"; the outcome that is read first comes first. Empty without outcomes. */
export function outcomeText({
  kind,
  outcomes,
}: Pick<HistoryDigest['groups'][number], 'kind' | 'outcomes'>): string {
  const words = outcomesOf[kind]?.words ?? {}
  const order = Object.keys(words)
  return outcomes
    .filter(({ outcome }) => outcome in words)
    .toSorted((a, b) => order.indexOf(a.outcome) - order.indexOf(b.outcome))
    .map(({ outcome, entries }) => `${count(entries)} ${words[outcome]}`)
    .join(', ')
}

/** From 18:00 of the day before to 8:00 in the reader's time zone. @param now the server's time, in ISO 8601 */
export function lastNight(now: string): { since: string; until: string } {
  const [since, until] = [new Date(now), new Date(now)]
  since.setHours(-6, 0, 0, 0)
  until.setHours(8, 0, 0, 0)
  return { since: since.toISOString(), until: until.toISOString() }
}
