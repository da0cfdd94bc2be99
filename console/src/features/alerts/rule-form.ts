import { type AlertRule, AlertRuleChange, NewAlertRule } from '#contract/alerts/rules.ts'
import type { FindingKind, FindingSeverity } from '#contract/findings/kinds.ts'
import { readBy } from '../../lib/fields.ts'

/** What a rule or a silence is about, as the form holds it. */
export interface MatchersTyped {
  severities: readonly FindingSeverity[]
  kinds: readonly FindingKind[]
  datacenter_ids: readonly string[]
  cluster_ids: readonly string[]
}

export interface Typed extends MatchersTyped {
  name: string
  channel_ids: readonly string[]
  every: boolean
  when: 'once' | 'daily'
  wait_minutes: string
  digest_at: string
  remind_hours: string
}

export const valuesOf = (rule?: AlertRule): Typed => ({
  name: rule?.name ?? '',
  severities: rule?.severities ?? ['down', 'degraded'],
  kinds: rule?.kinds ?? [],
  datacenter_ids: (rule?.datacenters ?? []).map((one) => one.id),
  cluster_ids: (rule?.clusters ?? []).map((one) => one.id),
  channel_ids: (rule?.channels ?? []).map((one) => one.id),
  every: rule === undefined || rule.channels === null,
  when: rule?.digest_at == null ? 'once' : 'daily',
  wait_minutes: String(rule?.wait_minutes ?? 0),
  digest_at: rule?.digest_at ?? '07:00',
  remind_hours: rule ? String(rule.remind_hours ?? '') : '4',
})

/** The rule as the API takes it. */
const bodyOf = (typed: Typed) => ({
  name: typed.name,
  severities: typed.severities,
  kinds: typed.kinds,
  datacenter_ids: typed.datacenter_ids,
  cluster_ids: typed.cluster_ids,
  channel_ids: typed.every ? null : typed.channel_ids,
  wait_minutes: typed.wait_minutes === '' ? 0 : Number(typed.wait_minutes),
  digest_at: typed.when === 'daily' ? typed.digest_at : null,
  remind_hours:
    typed.when === 'daily' || typed.remind_hours === '' ? null : Number(typed.remind_hours),
})

const more = (typed: Typed): Record<string, string> =>
  typed.every || typed.channel_ids.length > 0 ? {} : { channel_ids: 'Choose a channel' }

export const readNew = (typed: Typed) => readBy(NewAlertRule, bodyOf(typed), more(typed))
export const readChange = (typed: Typed) => readBy(AlertRuleChange, bodyOf(typed), more(typed))
