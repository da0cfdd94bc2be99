/** Alert rules: which findings are sent to which channels, and when. */
import * as z from 'zod/mini'
import { atMost, codeText } from '../bounds/fields.ts'
import type { Finding } from '../findings/findings.ts'
import { findingSeverities, kindsOfFindings } from '../findings/kinds.ts'
import { list } from '../list.ts'
import { nameOf } from '../names.ts'
import { callsOf } from '../object-calls.ts'
import type { Words } from '../operation.ts'
import { changed, wholeIn } from '../page.ts'
import type { Limit } from '../rule.ts'
import { counted } from '../words.ts'

/** Objects of one kind in a rule or a silence. */
const mostIds = 100
const Named = z.object({ id: z.uuid(), name: codeText })

/** What a rule or a silence is about. An empty list restricts nothing. */
export const Matchers = {
  severities: atMost(z.enum(findingSeverities), findingSeverities.length),
  kinds: atMost(z.enum(kindsOfFindings), kindsOfFindings.length),
  datacenters: atMost(Named, mostIds),
  clusters: atMost(Named, mostIds),
}

/** `07:00`, UTC. */
const clock = z
  .string()
  .check(z.trim(), z.regex(/^(?:[01]\d|2[0-3]):[0-5]\d$/, 'Enter a time such as 07:00'))

export const AlertRule = z.object({
  id: z.uuid(),
  name: codeText,
  ...Matchers,
  /** Null: every channel, also those that are added later. */
  channels: z.nullable(atMost(Named, mostIds)),
  wait_minutes: z.int(),
  digest_at: z.nullable(codeText),
  remind_hours: z.nullable(z.int()),
  paused: z.boolean(),
  ...changed,
})
export type AlertRule = z.infer<typeof AlertRule>

const some = <T extends z.core.$ZodType>(item: T, most: number) =>
  z.array(item).check(z.maxLength(most, `At most ${most}`))
const ids = some(z.uuid(), mostIds)

/** The matchers of a new rule or silence. */
export const matcherFields = {
  severities: some(z.enum(findingSeverities), findingSeverities.length),
  kinds: some(z.enum(kindsOfFindings), kindsOfFindings.length),
  datacenter_ids: ids,
  cluster_ids: ids,
}

const when = {
  /** Null: every channel. */
  channel_ids: z.nullable(ids),
  /** A finding is sent when it has lasted this long. */
  wait_minutes: wholeIn(0, 1440, 'Wait for 0 to 1440 minutes'),
  /** Time of the day, UTC, at which one message lists what is open. Null: findings are sent at once. */
  digest_at: z.nullable(clock),
  /** An open finding that nobody has acknowledged is sent again after this time. Null: never. */
  remind_hours: z.nullable(wholeIn(1, 168, 'Remind after 1 to 168 hours')),
  paused: z.boolean(),
}

export const NewAlertRule = z.strictObject({
  name: nameOf('Rule'),
  severities: z._default(matcherFields.severities, []),
  kinds: z._default(matcherFields.kinds, []),
  datacenter_ids: z._default(matcherFields.datacenter_ids, []),
  cluster_ids: z._default(matcherFields.cluster_ids, []),
  channel_ids: z._default(when.channel_ids, null),
  wait_minutes: z._default(when.wait_minutes, 0),
  digest_at: z._default(when.digest_at, null),
  remind_hours: z._default(when.remind_hours, 4),
  paused: z._default(when.paused, false),
})
export type NewAlertRule = z.infer<typeof NewAlertRule>

export const AlertRuleChange = z.partial(
  z.strictObject({ name: nameOf('Rule'), ...matcherFields, ...when }),
)
export type AlertRuleChange = z.infer<typeof AlertRuleChange>

/** `down, degraded of web, db` */
export const matchersText = ({
  severities,
  kinds,
  datacenters,
  clusters,
}: Pick<AlertRule, 'severities' | 'kinds' | 'datacenters' | 'clusters'>): string => {
  const what = [
    severities.length === 0 ? 'all' : severities.join(', '),
    ...(kinds.length === 0 ? [] : [counted(kinds.length, 'kind')]),
  ].join(', ')
  const of = [...clusters, ...datacenters].map((one) => one.name)
  return of.length === 0 ? what : `${what} of ${of.join(', ')}`
}

/** `at once`, `after 10 min`, `daily at 07:00 UTC` */
export const ruleTime = ({
  wait_minutes,
  digest_at,
}: Pick<AlertRule, 'wait_minutes' | 'digest_at'>): string =>
  digest_at !== null
    ? `daily at ${digest_at} UTC`
    : wait_minutes === 0
      ? 'at once'
      : `after ${wait_minutes} min`

/** Longer lists are looked up in a set, which is made once: each finding asks every rule. */
const shortList = 8
const sets = new WeakMap<readonly string[], ReadonlySet<string>>()
function isListed(listed: readonly string[], value: string): boolean {
  if (listed.length <= shortList) return listed.includes(value)
  const set = sets.get(listed) ?? new Set(listed)
  sets.set(listed, set)
  return set.has(value)
}

/**
 * Whether a rule or a silence is about the finding. A finding without a cluster, or without a
 * datacenter, is not about one of those that are listed.
 */
export const matches = (
  of: {
    readonly severities: readonly string[]
    readonly kinds: readonly string[]
    readonly datacenter_ids: readonly string[]
    readonly cluster_ids: readonly string[]
  },
  finding: Pick<Finding, 'severity' | 'kind' | 'cluster' | 'datacenter'>,
): boolean => {
  const holds = (listed: readonly string[], value: string | undefined) =>
    listed.length === 0 || (value !== undefined && isListed(listed, value))
  return (
    holds(of.severities, finding.severity) &&
    holds(of.kinds, finding.kind) &&
    holds(of.datacenter_ids, finding.datacenter?.id) &&
    holds(of.cluster_ids, finding.cluster?.id)
  )
}

const rules = list<AlertRule>()({
  nouns: ['rule', 'rules'],
  mostPerPage: 100,
  columns: {
    name: { label: 'Name', sort: true, value: (r: AlertRule) => r.name },
    what: { label: 'Findings', value: (r: AlertRule) => matchersText(r) },
    channels: {
      label: 'To',
      value: (r: AlertRule) =>
        r.channels === null ? 'every channel' : r.channels.map((c) => c.name).join(', '),
    },
    when: { label: 'When', value: (r: AlertRule) => ruleTime(r) },
    remind_hours: {
      label: 'Reminds',
      value: (r: AlertRule) => (r.remind_hours === null ? null : `after ${r.remind_hours} h`),
    },
    paused: { label: 'Status', value: (r: AlertRule) => (r.paused ? 'Paused' : null) },
    created_at: {
      label: 'Created',
      kind: 'time',
      sort: true,
      hidden: true,
      value: (r: AlertRule) => r.created_at,
    },
  },
  order: 'name',
})

const calls = callsOf(
  'alertRule',
  '/v1/alert-rules',
  { read: 'clusters:read', write: 'alerts:manage' },
  AlertRule,
)
export const alertRuleLimit: Limit = {
  most: 500,
  nouns: 'rules',
  remedy: 'remove one that is not used any more',
}

export const alertRuleList = calls.list(rules, 'Rules: which findings are sent to which channels.')
export const alertRuleGet = calls.get('One rule.')
export const alertRuleCreate = calls.create({
  summary: 'Add a rule.',
  body: NewAlertRule,
  errors: ['name_taken'],
})
export const alertRuleUpdate = calls.update({
  summary: 'Change a rule.',
  body: AlertRuleChange,
  errors: ['stale', 'name_taken'],
})
export const alertRuleRemove = calls.remove(
  'Remove a rule. Channels are still notified when the findings that it sent end.',
  ['stale'],
)

/** Words for the API documentation. */
export const words: Words = {
  objects: {
    AlertRule: [AlertRule, 'Which findings are sent to which channels, and when.'],
    NewAlertRule: [NewAlertRule, 'A rule to add.'],
  },
  fields: {
    severities: 'Only findings of these severities; empty for all.',
    kinds: 'Only findings of these kinds; empty for all.',
    datacenter_ids: 'Only findings in these datacenters; empty for all.',
    cluster_ids: 'Only findings of these clusters and their servers; empty for all.',
    channel_ids: 'Channels that are notified; null for every channel, including those added later.',
    wait_minutes: 'A finding is sent when it has lasted this long.',
    digest_at:
      'Time of the day, UTC, at which one message lists what is open; null: findings are sent at once.',
    'alertRuleCreate.paused': 'True: nothing is sent by this rule.',
    'alertRuleUpdate.paused': 'True: nothing is sent by this rule.',
    remind_hours:
      'An open finding that nobody has acknowledged is sent again after this time; null: never.',
  },
  bodies: {
    alertRuleCreate: { name: 'nights', severities: ['down'], remind_hours: 1 },
    alertRuleUpdate: { wait_minutes: 10 },
  },
}
