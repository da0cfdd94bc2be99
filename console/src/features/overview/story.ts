/** The last 24 hours in a few sentences. */
import { type Effect, effectsInOrder } from '#contract/incidents/effects.ts'
import type { Incident } from '#contract/incidents/incidents.ts'
import { type Operation, operationTitle } from '#contract/operations.ts'
import { paths } from '../../lib/paths.ts'
import { duration } from '../../lib/time/time.ts'

/** Most sentences that are told; the rest is in the history. */
export const mostSentences = 5

export interface Sentence {
  readonly at: string
  /** What the sentence is about, which leads to its page. */
  readonly subject: string
  readonly to: string
  readonly text: string
}

const took = (from: string, to: string): string => {
  const ms = Date.parse(to) - Date.parse(from)
  return duration(ms < 60_000 ? ms : Math.floor(ms / 60_000) * 60_000)
}

const ofIncident = (i: Incident & { ended_at: string }): Sentence => ({
  at: i.since,
  subject: i.title,
  to: paths.incident(i.id),
  text: `; recovered after ${took(i.since, i.ended_at)}.`,
})

function ofOperation(o: Operation & { ended_at: string }): Sentence {
  const by = o.created_by === null ? '' : `, by ${o.created_by}`
  const lasted = took(o.started_at ?? o.created_at, o.ended_at)
  return {
    at: o.started_at ?? o.created_at,
    subject: operationTitle(o),
    to: paths.operation(o.id),
    text: `: ${o.status === 'done' ? `done in ${lasted}` : `${o.status} after ${lasted}`}${by}.`,
  }
}

const hasEnded = <T extends { readonly ended_at: string | null }>(
  it: T,
): it is T & { ended_at: string } => it.ended_at !== null

/** What failed is told before what was done, and after what took the most from people. */
const failed: Effect = 'one_server'

/**
 * What was done and what came of it, chosen by effect, in the order of time. What is still open is
 * told by its own row.
 */
export function storyOf(
  incidents: readonly Incident[],
  operations: readonly Operation[],
  since: string,
): Sentence[] {
  const place = (effect: Effect) => effectsInOrder.indexOf(effect)
  const all = [
    ...incidents
      .filter(hasEnded)
      .map((i) => ({ rank: place(i.effect), ended: i.ended_at, ...ofIncident(i) })),
    ...operations.filter(hasEnded).map((o) => ({
      rank: o.status === 'failed' ? place(failed) + 0.5 : effectsInOrder.length,
      ended: o.ended_at,
      ...ofOperation(o),
    })),
  ]
  return all
    .filter(({ ended }) => ended >= since)
    .toSorted((a, b) => a.rank - b.rank || (a.ended < b.ended ? 1 : -1))
    .slice(0, mostSentences)
    .toSorted((a, b) => (a.at < b.at ? -1 : 1))
    .map(({ at, subject, to, text }) => ({ at, subject, to, text }))
}
