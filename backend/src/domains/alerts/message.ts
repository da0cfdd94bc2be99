/**
 * Messages: what is stored of one, and its forms as text, CloudEvent and alerts of
 * Alertmanager. A message tells incidents, and names the finding that is the cause of each.
 */
import type { Finding } from '#contract/findings/findings.ts'
import {
  findingKinds,
  type FindingObject,
  findingSeverities,
  type FindingSeverity,
} from '#contract/findings/kinds.ts'
import { counted } from '#contract/words.ts'
import type { Effect } from '#contract/incidents/effects.ts'
import { lasting } from '../../sentences.ts'
import type { StandingIncident } from '../incidents/api.ts'
import type { Event } from './deciding.ts'

/** What a message says of the incident. Messages of older versions were about findings alone. */
export interface ItemIncident {
  readonly title: string
  readonly effect: Effect
  readonly severity: FindingSeverity
  readonly since: string
  readonly ended_at: string | null
  /** What the finding that takes the most says, if that is another one. */
  readonly worst: { readonly object: FindingObject; readonly reason: string } | null
  readonly findings: number
}

/** An incident as a message tells it, with the finding that is its cause. */
export type Item = Pick<
  Finding,
  | 'id'
  | 'kind'
  | 'severity'
  | 'object'
  | 'cluster'
  | 'datacenter'
  | 'since'
  | 'reason'
  | 'remedies'
  | 'affected'
  | 'caused_by'
  | 'ended_at'
  | 'count'
> & {
  readonly event: Event
  readonly incident_id?: string | null
  readonly incident?: ItemIncident
}

export interface Content {
  readonly test: boolean
  readonly items: readonly Item[]
  /** Number of further incidents that the message doesn't list. */
  readonly more: number
}

/** Incidents in one message. */
const mostItems = 200
/** Incidents in a text that people read. */
const mostLines = 50

/** @param finding the one that the channel was told of */
export const itemOf = (
  incident: StandingIncident,
  event: Event,
  finding = incident.cause,
): Item => ({
  event,
  id: finding.id,
  incident_id: incident.id,
  kind: finding.kind,
  severity: finding.severity,
  object: finding.object,
  cluster: finding.cluster,
  datacenter: finding.datacenter,
  since: finding.since,
  reason: finding.reason,
  remedies: incident.remedies,
  affected: finding.affected,
  caused_by: finding.caused_by,
  ended_at: incident.ended_at,
  count: finding.count,
  incident: {
    title: incident.title,
    effect: incident.effect,
    severity: incident.severity,
    since: incident.since,
    ended_at: incident.ended_at,
    worst: incident.worst,
    findings: incident.parts.length,
  },
})

export const contentOf = (items: readonly Item[]): Content => ({
  test: false,
  items: items.slice(0, mostItems),
  more: Math.max(0, items.length - mostItems),
})

export const testContent: Content = { test: true, items: [], more: 0 }

const words: Readonly<Record<FindingSeverity, string>> = {
  down: 'Down',
  degraded: 'Degraded',
  attention: 'Attention',
}
const nameOf = ({ object, cluster }: Item): string =>
  cluster !== null && object.kind !== 'cluster' ? `${object.name} (${cluster.name})` : object.name

const severityOf = ({ incident, severity }: Item): FindingSeverity => incident?.severity ?? severity

/** "Down: poz-render-01 refuses writes", "Recovered after 11 min: poz-render-01 refuses writes" */
const headOf = (item: Item): string => {
  const { incident, event, ended_at, affected, count } = item
  const since = incident?.since ?? item.since
  const word =
    event !== 'ended'
      ? `${words[severityOf(item)]}${event === 'reminder' ? ', still' : ''}`
      : // What ended and came back began several times, of which the last alone is known.
        ended_at === null || count > 1
        ? 'Recovered'
        : `Recovered after ${lasting(Date.parse(ended_at) - Date.parse(since))}`
  const what = incident
    ? `${incident.title}${item.cluster !== null && item.object.kind !== 'cluster' ? ` (${item.cluster.name})` : ''}`
    : `${nameOf(item)}: ${findingKinds[item.kind].title}${affected === null ? '' : ` (${counted(affected.count, 'server')})`}`
  return `${word}: ${what}`
}

/** One line without line breaks. */
export function subjectOf({ test, items, more }: Content): string {
  if (test) return 'Test message of Steelyard'
  const [first] = items
  if (items.length + more === 1 && first) return headOf(first)
  const open = items.filter((one) => one.event !== 'ended')
  const parts = [
    ...findingSeverities.flatMap((severity) => {
      const n = open.filter((one) => severityOf(one) === severity).length
      return n === 0 ? [] : [`${n} ${severity}`]
    }),
    ...(open.length < items.length ? [`${items.length - open.length} recovered`] : []),
    ...(more > 0 ? [`${more} more`] : []),
  ]
  return `${counted(items.length + more, 'incident')}: ${parts.join(', ')}`
}

const minute = (iso: string): string => `${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC`

/**
 * The page of the object in the console; of a datacenter, its servers that are silent; of Steelyard
 * itself, its backups.
 */
const pagesOf: Readonly<Record<FindingObject, (item: Item) => string>> = {
  server: ({ object }) => `/infra/servers/${object.id}`,
  cluster: ({ object }) => `/infra/clusters/${object.id}`,
  datacenter: ({ object }) =>
    `/infra/servers?datacenter=${encodeURIComponent(object.name)}&reachable=false`,
  channel: () => '/alerts/channels',
  installation: () => '/admin/backups',
}
const urlOf = (item: Item, origin: string): string => `${origin}${pagesOf[item.object.kind](item)}`

/** The message as plain text, for people. `origin`: the public URL of Steelyard. */
export function textOf({ test, items, more }: Content, origin: string): string {
  if (test)
    return `This is a test message of Steelyard at ${origin}. Incidents will be sent in the same way.\n`
  const lines = items
    .slice(0, mostLines)
    .map((item) =>
      [
        headOf(item),
        item.reason,
        ...(item.incident?.worst ? [item.incident.worst.reason] : []),
        item.ended_at === null
          ? `Since ${minute(item.incident?.since ?? item.since)}.`
          : `From ${minute(item.incident?.since ?? item.since)} to ${minute(item.ended_at)}.`,
        ...(item.event === 'ended' ? [] : item.remedies.map((one) => `To do: ${one.title}`)),
        urlOf(item, origin),
      ].join('\n'),
    )
  const rest = items.length - lines.length + more
  return `${[...lines, ...(rest > 0 ? [`And ${counted(rest, 'more incident')}: ${origin}/`] : [])].join('\n\n')}\n`
}

/** The body of a webhook: a CloudEvent in structured mode (CloudEvents 1.0, JSON event format). */
export const cloudEvent = (
  { id, at, origin }: { id: string; at: Date; origin: string },
  content: Content,
): string =>
  JSON.stringify({
    specversion: '1.0',
    id,
    source: origin,
    type: content.test ? 'steelyard.test' : 'steelyard.findings',
    time: at.toISOString(),
    datacontenttype: 'application/json',
    data: {
      subject: subjectOf(content),
      text: textOf(content, origin),
      findings: content.items.map((item) => ({ ...item, url: urlOf(item, origin) })),
      more: content.more,
    },
  })

/** The words that most configurations of Alertmanager route by. */
const usual: Readonly<Record<FindingSeverity, string>> = {
  down: 'critical',
  degraded: 'warning',
  attention: 'info',
}

/**
 * The body of `POST /api/v2/alerts` (prometheus/alertmanager, api/v2/openapi.yaml, postableAlerts).
 * Alertmanager takes an alert for resolved at `endsAt`.
 * @param openUntil the `endsAt` of open findings, which are sent again before
 */
export const postableAlerts = (
  { items, test }: Content,
  { origin, at, openUntil }: { origin: string; at: Date; openUntil: Date },
): string =>
  JSON.stringify(
    test
      ? [
          {
            labels: { alertname: 'steelyard_test', severity: 'info' },
            annotations: { summary: 'Test message of Steelyard' },
            startsAt: at.toISOString(),
            endsAt: new Date(at.getTime() + 60_000).toISOString(),
            generatorURL: origin,
          },
        ]
      : items.map((item) => ({
          labels: {
            alertname: item.kind,
            severity: usual[item.severity],
            [item.object.kind]: item.object.name,
            ...(item.cluster && { cluster: item.cluster.name }),
            ...(item.datacenter && { datacenter: item.datacenter.code }),
            finding: item.id,
            ...(item.incident_id && { incident: item.incident_id }),
          },
          annotations: { summary: headOf({ ...item, event: 'began' }), description: item.reason },
          startsAt: item.incident?.since ?? item.since,
          endsAt: item.ended_at ?? openUntil.toISOString(),
          generatorURL: urlOf(item, origin),
        })),
  )
