/**
 * Decides what a channel is told, from stored facts and the time alone. Level-triggered: each pass
 * compares what is open with what the channel was told, so a lost wake-up only delays a message.
 */
import { matches } from '#contract/alerts/rules.ts'
import { isAbout, isSilent, type SilenceTerms } from '#contract/alerts/silences.ts'
import { passing, slices } from '../../slices.ts'
import { findingKinds } from '#contract/findings/kinds.ts'
import type { StandingFinding, StandingIncident } from '../incidents/api.ts'

/** When, and of what, a rule tells its channels. Rules and silences go by findings. */
export interface RuleTerms {
  readonly severities: readonly string[]
  readonly kinds: readonly string[]
  readonly datacenter_ids: readonly string[]
  readonly cluster_ids: readonly string[]
  readonly channel_ids: readonly string[] | null
  readonly wait_minutes: number
  readonly digest_at: string | null
  readonly remind_hours: number | null
  readonly paused: boolean
}

/** What a channel was told of an incident. */
export interface Told {
  /** When it was last told that the incident is open. */
  readonly told_at: Date
  /** Whether it is to be told of it again, as if it began. */
  readonly again: boolean
  /** When it was told that the finding has ended. */
  readonly ended_at: Date | null
}

export interface ChannelView {
  readonly id: string
  /** An Alertmanager repeats by its own rules, so it is not reminded. */
  readonly reminds: boolean
  /** When the last message to the channel was made. */
  readonly last: Date | null
  readonly told: ReadonlyMap<string, Told>
}

export type Event = 'began' | 'reminder' | 'ended'
export interface Decision {
  /** What one message tells now. Empty: there is no message. */
  readonly tell: readonly { readonly incident: StandingIncident; readonly event: Event }[]
  /** Ids of incidents whose end that of another tells. */
  readonly over: readonly string[]
  /** When to decide again at the latest; null: when something changes. */
  readonly again: Date | null
}

/**
 * The first message waits this long for findings that belong to it, and a further one within ten
 * minutes longer: a thousand servers that vanish are not a thousand messages.
 */
export const gatherMs = { first: 30_000, further: 120_000 } as const
const furtherWithinMs = 600_000
/** An end is told when it has lasted, so that what comes and goes is told once. */
const settleMs = 300_000
/** What began this often within an hour is told to have ended after an hour without it. */
const flaps = 3
const flapMs = 3_600_000
/** A silence that repeats, and a change that explains a finding, are looked at again after this time. */
const lookAgainMs = 60_000

/** The next time of the day after this moment, UTC. */
export function nextTime(clock: string, after: Date): Date {
  const [hours, minutes] = clock.split(':').map(Number) as [number, number]
  const next = new Date(after)
  next.setUTCHours(hours, minutes, 0, 0)
  if (next <= after) next.setUTCDate(next.getUTCDate() + 1)
  return next
}

const later = (at: Date, ms: number): Date => new Date(at.getTime() + ms)
const earliest = (times: readonly Date[]): Date | null =>
  times.length === 0 ? null : new Date(Math.min(...times.map((at) => at.getTime())))

/** `ripe`: when it may go along in a message. `due`: when it makes a message of its own. */
interface Stage {
  readonly event: Event
  readonly ripe: Date
  readonly due: Date
}

type Cluster = StandingFinding['cluster']

/** The finding of one server of a group that fell silent together. */
const alone = (
  finding: StandingFinding,
  { id, name }: StandingFinding['silent'][number],
  cluster: Cluster,
): StandingFinding => ({
  ...finding,
  kind: 'server_unreachable',
  severity: findingKinds.server_unreachable.severity,
  object: { kind: 'server', id, name },
  cluster,
})

/** The silence of the finding, or one of those that together are about each of its servers. */
export function silenceOf(
  finding: StandingFinding,
  inForce: readonly SilenceTerms[],
  clusterOf: (serverId: string) => Cluster,
): SilenceTerms | undefined {
  const whole = inForce.find((one) => isAbout(one, finding))
  if (whole !== undefined || finding.silent.length === 0) return whole
  const each = finding.silent.map((server) => {
    const single = alone(finding, server, clusterOf(server.id))
    return inForce.find((one) => isAbout(one, single))
  })
  if (!each.every((one) => one !== undefined)) return undefined
  const byEnd = each.toSorted((a, b) => Date.parse(a.ends_at) - Date.parse(b.ends_at))
  return byEnd.find((one) => one.repeats !== null) ?? byEnd[0]
}

interface How {
  readonly gather: number
  readonly reminds: boolean
  readonly now: Date
}

/** When the channel is told next of an open finding, by the rule that is first. */
function nextOf(
  finding: StandingFinding,
  told: Told | undefined,
  rules: readonly RuleTerms[],
  { gather, reminds, now }: How,
): Stage | undefined {
  const stages = rules.flatMap((rule): Stage[] => {
    if (told) {
      if (!reminds) return []
      const due =
        rule.digest_at !== null
          ? nextTime(rule.digest_at, told.told_at)
          : rule.remind_hours === null
            ? undefined
            : later(told.told_at, rule.remind_hours * 3_600_000)
      return due ? [{ event: 'reminder', ripe: due, due }] : []
    }
    // A finding that begins in the future was found by a clock that was ahead. Nobody knows for how
    // long it has lasted, so it is told now.
    const isAhead = finding.began_at > now
    const ripe = isAhead ? now : later(finding.began_at, rule.wait_minutes * 60_000)
    if (rule.digest_at === null)
      return [{ event: 'began', ripe, due: isAhead ? now : later(ripe, gather) }]
    const due = nextTime(rule.digest_at, ripe)
    return [{ event: 'began', ripe: due, due }]
  })
  return stages.toSorted((a, b) => a.due.getTime() - b.due.getTime())[0]
}

/** When the end of an incident is told. `begins`: when it began, the last times. */
export function endTold(end: Date, begins: readonly Date[]): Date {
  const recent = begins.filter((at) => end.getTime() - at.getTime() < flapMs)
  return later(end, recent.length >= flaps ? flapMs : settleMs)
}

/** The silences that hold now. Whether a time of the week is in a time zone takes long to ask. */
export const silencesInForce = (
  silences: readonly SilenceTerms[],
  now: Date,
): Promise<SilenceTerms[]> => passing(silences, (one) => isSilent(one, now))

/**
 * The rules that are about a finding, for all channels: each finding is compared with each rule
 * once. What a rule would tell of one server alone, it tells of all that fell silent together too.
 * @param clusterOf the cluster of a server that is silent
 */
export function rulesAbout(
  rules: readonly RuleTerms[],
  clusterOf: (serverId: string) => Cluster,
): (finding: StandingFinding) => readonly RuleTerms[] {
  const active = rules.filter((rule) => !rule.paused)
  const known = new Map<string, readonly RuleTerms[]>()
  return (finding) => {
    const before = known.get(finding.id)
    if (before) return before
    const single = [...new Set(finding.silent.map(({ id }) => clusterOf(id)))].map((cluster) =>
      alone(finding, finding.silent[0]!, cluster),
    )
    const about = active.filter(
      (rule) => matches(rule, finding) || single.some((one) => matches(rule, one)),
    )
    known.set(finding.id, about)
    return about
  }
}

interface Around {
  /** The rules about a finding, which are the same for every channel. */
  readonly about: (finding: StandingFinding) => readonly RuleTerms[]
  /** The silence of the finding, which is the same for every channel. */
  readonly silenced: (finding: StandingFinding) => SilenceTerms | undefined
  /** Whether a running change explains the finding. */
  readonly explained: (finding: StandingFinding) => boolean
  readonly now: Date
}

/**
 * What a channel is told of an open incident: what one of its findings gives, that no silence and no
 * running change holds back. Undefined: nothing now.
 */
function openStage(
  parts: readonly StandingFinding[],
  told: Told | undefined,
  how: How,
  { about, silenced, explained, now }: Around,
  again: Date[],
): { readonly event: Event; readonly isDue: boolean } | undefined {
  let found: { event: Event; isDue: boolean } | undefined
  for (const finding of parts) {
    const stage = nextOf(finding, told, about(finding), how)
    if (!stage) continue
    if (stage.due > now) again.push(stage.due)
    if (stage.ripe > now) continue
    const silence = silenced(finding)
    if (silence) again.push(silence.repeats ? later(now, lookAgainMs) : new Date(silence.ends_at))
    else if (explained(finding)) again.push(later(now, lookAgainMs))
    else found = { event: stage.event, isDue: stage.due <= now || (found?.isDue ?? false) }
  }
  return found
}

/**
 * Decides for one channel, in slices. An incident is told once, again when it takes more or begins
 * anew, and when it ends.
 */
export async function decide(
  incidents: readonly StandingIncident[],
  channel: ChannelView,
  around: Around,
): Promise<Decision> {
  const { now } = around
  const tells = (rule: RuleTerms) =>
    rule.channel_ids === null || rule.channel_ids.includes(channel.id)
  const about = (finding: StandingFinding) => around.about(finding).filter(tells)
  const isFurther = channel.last !== null && later(channel.last, furtherWithinMs) > now
  const how = {
    gather: isFurther ? gatherMs.further : gatherMs.first,
    reminds: channel.reminds,
    now,
  }
  const open = new Set(incidents.flatMap((one) => (one.ended_at === null ? [one.id] : [])))
  const slice = slices()
  const over: string[] = []
  const again: Date[] = []
  const ripe: { incident: StandingIncident; event: Event; isDue: boolean }[] = []
  for (const incident of incidents) {
    if (slice.isOver()) await slice.next()
    const before = channel.told.get(incident.id)
    const told = before?.ended_at === null ? before : undefined
    if (incident.ended_at !== null) {
      if (!told) continue
      // It turned out to be part of another: that one tells the end, if the channel hears of it.
      if (incident.merged_into !== null) {
        if (channel.told.get(incident.merged_into)?.ended_at === null) {
          over.push(incident.id)
          continue
        }
        if (open.has(incident.merged_into)) continue
      }
      const due = endTold(new Date(incident.ended_at), incident.begins)
      if (due > now) again.push(due)
      else ripe.push({ incident, event: 'ended', isDue: true })
      continue
    }
    // Who has an incident isn't reminded of it, and hears when it takes more.
    if (incident.isAssigned && !told?.again) continue
    // A channel gets no message about its own failure: it would arrive after the failure.
    const parts = incident.parts.filter((one) => one.object.id !== channel.id)
    const stage = openStage(parts, told?.again ? undefined : told, how, { ...around, about }, again)
    if (stage) ripe.push({ incident, ...stage })
  }
  const isAny = ripe.some((one) => one.isDue)
  return {
    tell: isAny ? ripe.map(({ incident, event }) => ({ incident, event })) : [],
    over,
    again: earliest(again),
  }
}
