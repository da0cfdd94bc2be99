/** Messages: what is stored of one, and its forms as text, CloudEvent and alerts of Alertmanager. */
import type { Finding } from '#contract/findings/findings.ts'
import {
  findingKinds,
  type FindingObject,
  findingSeverities,
  type FindingSeverity,
} from '#contract/findings/kinds.ts'
import { counted } from '#contract/words.ts'
import type { Event } from './deciding.ts'

/** A finding as a message tells it. */
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
> & { readonly event: Event }

export interface Content {
  readonly test: boolean
  readonly items: readonly Item[]
  /** Number of further findings that the message doesn't list. */
  readonly more: number
}

/** Findings in one message. */
const mostItems = 200
/** Findings in a text that people read. */
const mostLines = 50

export const itemOf = (
  {
    id,
    kind,
    severity,
    object,
    cluster,
    datacenter,
    since,
    reason,
    remedies,
    affected,
    caused_by,
    ended_at,
    count,
  }: Finding,
  event: Event,
): Item => ({
  event,
  id,
  kind,
  severity,
  object,
  cluster,
  datacenter,
  since,
  reason,
  remedies,
  affected,
  caused_by,
  ended_at,
  count,
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

const headOf = (item: Item): string => {
  const word = item.event === 'ended' ? 'Ended' : words[item.severity]
  const again = item.event === 'reminder' ? ', still' : ''
  const affected = item.affected === null ? '' : ` (${counted(item.affected.count, 'server')})`
  return `${word}${again}: ${nameOf(item)}: ${findingKinds[item.kind].title}${affected}`
}

/** One line without line breaks. */
export function subjectOf({ test, items, more }: Content): string {
  if (test) return 'Test message of Steelyard'
  const [first] = items
  if (items.length + more === 1 && first) return headOf(first)
  const open = items.filter((one) => one.event !== 'ended')
  const parts = [
    ...findingSeverities.flatMap((severity) => {
      const n = open.filter((one) => one.severity === severity).length
      return n === 0 ? [] : [`${n} ${severity}`]
    }),
    ...(open.length < items.length ? [`${items.length - open.length} ended`] : []),
    ...(more > 0 ? [`${more} more`] : []),
  ]
  return `${counted(items.length + more, 'finding')}: ${parts.join(', ')}`
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
    return `This is a test message of Steelyard at ${origin}. Findings will be sent in the same way.\n`
  const lines = items
    .slice(0, mostLines)
    .map((item) =>
      [
        headOf(item),
        item.reason,
        item.ended_at === null
          ? `Since ${minute(item.since)}.`
          : `From ${minute(item.since)} to ${minute(item.ended_at)}.`,
        ...(item.event === 'ended' ? [] : item.remedies.map((one) => `To do: ${one.title}`)),
        urlOf(item, origin),
      ].join('\n'),
    )
  const rest = items.length - lines.length + more
  return `${[...lines, ...(rest > 0 ? [`And ${counted(rest, 'more finding')}: ${origin}/`] : [])].join('\n\n')}\n`
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
          },
          annotations: { summary: headOf({ ...item, event: 'began' }), description: item.reason },
          startsAt: item.since,
          endsAt: item.ended_at ?? openUntil.toISOString(),
          generatorURL: urlOf(item, origin),
        })),
  )
