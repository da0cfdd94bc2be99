/** Texts of incidents. */
import type { FindingSeverity } from '#contract/findings/kinds.ts'
import type { Incident } from '#contract/incidents/incidents.ts'
import { duration, moment } from '../../lib/time/time.ts'
import { serverNow } from '../../lib/time/server-time.ts'
import { findingTones } from '../../ui/feedback/finding-tones.ts'
import type { Tone } from '../../ui/feedback/tone.ts'
import type { Mended } from '../findings/remedies.ts'

export const severityWords: Readonly<Record<FindingSeverity, string>> = {
  down: 'Down',
  degraded: 'Degraded',
  attention: 'Attention',
}

/** The mark and the word of an incident. */
export const incidentSaid = ({
  severity,
  ended_at,
}: Pick<Incident, 'severity' | 'ended_at'>): { tone: Tone; word: string } =>
  ended_at === null
    ? { tone: findingTones[severity], word: severityWords[severity] }
    : { tone: 'ok', word: 'Ended' }

/** "33 min", in whole minutes from one minute on. */
export function lasted(
  { since, ended_at }: Pick<Incident, 'since' | 'ended_at'>,
  now = serverNow(),
) {
  const ms = (ended_at === null ? now : Date.parse(ended_at)) - Date.parse(since)
  return duration(ms < 60_000 ? ms : Math.floor(ms / 60_000) * 60_000)
}

/** "since 08:41, 33 min", or "08:58 to 09:18, after 20 min". */
export const lastedSaid = (i: Pick<Incident, 'since' | 'ended_at'>, now = serverNow()): string =>
  i.ended_at === null
    ? `since ${moment(i.since, now)}, ${lasted(i, now)}`
    : `${moment(i.since, now)} to ${moment(i.ended_at, now)}, after ${lasted(i, now)}`

/** What mends an incident is about its worst part. */
export const mended = (i: Incident): Mended => ({
  object: i.worst?.object ?? i.object,
  cluster: i.cluster,
  datacenter: i.datacenter,
  reason: i.worst?.reason ?? i.reason,
  remedies: i.remedies,
  ended_at: i.ended_at,
})

const counts = ['down', 'degraded', 'attention'] as const
/** How many incidents there are of each severity that has any: "1 down", "4 need attention". */
export function severityCounts(
  incidents: readonly Pick<Incident, 'severity'>[],
): { severity: FindingSeverity; count: number; word: string }[] {
  return counts.flatMap((severity) => {
    const count = incidents.filter((i) => i.severity === severity).length
    const needs = count === 1 ? 'needs attention' : 'need attention'
    return count === 0
      ? []
      : [{ severity, count, word: severity === 'attention' ? needs : severity }]
  })
}
