/** Pure functions of plans. */
import type { ChangeStart, ClusterPlan } from '#contract/clusters/changes/changes.ts'
import type * as z from 'zod/mini'
import type { Operation } from '#contract/operations.ts'
import { no, type Verdict, yes } from '#contract/rule.ts'
import type { DiskToConfirm } from '#contract/servers/disks.ts'
import { keyOf } from '../create/choice.ts'

/** Distinct differences, each with the names of its servers, in the order of the plan. */
export function sameDifferences(differences: ClusterPlan['differences']): { names: string[]; diff: string }[] {
  const byText = new Map<string, string[]>()
  for (const { name, diff } of differences) byText.set(diff, [...(byText.get(diff) ?? []), name])
  return [...byText].map(([diff, names]) => ({ names, diff }))
}

export type When = 'now' | 'at' | 'window'

/** The start of a change. `at`: the value of a `datetime-local` input, in the user's time zone. */
export function startOf(when: When, at: string): { ok: true; start: z.input<typeof ChangeStart> | undefined } | { ok: false; reason: string } {
  if (when === 'now') return { ok: true, start: undefined }
  if (when === 'window') return { ok: true, start: { in_window: true } }
  const time = new Date(at)
  return Number.isNaN(time.getTime()) ? { ok: false, reason: 'Enter the time at which the change begins' } : { ok: true, start: { at: time.toISOString() } }
}

/** Whether the change may begin: all checks have passed, and each disk that needs it is confirmed. */
export function canStart({ checks, disks }: Pick<ClusterPlan, 'checks' | 'disks'>, ticked: ReadonlySet<string>): Verdict {
  const failed = checks.find((c) => !c.ok)
  if (failed) return no(failed.message)
  const unnamed = disks.find((d) => d.by === null)
  if (unnamed) return no(`${unnamed.device} of ${unnamed.server} can't be distinguished from other disks: empty it first, or choose another disk`)
  return disks.every((d) => ticked.has(keyOf(d as DiskToConfirm))) ? yes : no('Confirm each disk first')
}

/** Operations that wait for their time or for the maintenance window, the next first. */
export const scheduledOf = (operations: readonly Operation[]): Operation[] =>
  operations
    .filter((o) => (o.status === 'pending' || o.status === 'waiting') && o.started_at === null && (Boolean(o.starts_at) || o.in_window === true))
    .toSorted((a, b) => (a.starts_at ?? '').localeCompare(b.starts_at ?? ''))
