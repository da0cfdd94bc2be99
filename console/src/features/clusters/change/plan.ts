/** Pure functions of plans. */
import type { ChangeStart, ClusterPlan } from '#contract/clusters/changes/changes.ts'
import type * as z from 'zod/mini'
import { isScheduled, type Operation } from '#contract/operations.ts'
import { firstFailed, no, refusalBy, type Verdict, yes } from '#contract/rule.ts'
import type { DiskToConfirm } from '#contract/disks/disks.ts'
import { isoOf } from '../../../lib/time/local-time.ts'
import { keyOf } from '../create/wiped.ts'

/** Texts with the names of the servers that have the same text, in the given order. */
export function sameTexts(
  items: readonly { readonly name: string; readonly text: string }[],
): { names: string[]; text: string }[] {
  const byText = Map.groupBy(items, (item) => item.text)
  return [...byText].map(([text, same]) => ({ names: same.map((s) => s.name), text }))
}

/**
 * A sentence, split at the names of servers. A name inside of a longer name or host doesn't count.
 */
export function partsOf<S extends { readonly name: string }>(
  text: string,
  servers: readonly S[],
): (string | S)[] {
  const byName = new Map(servers.map((s) => [s.name, s]))
  return text
    .split(/([a-z0-9-]+(?:\.[a-z0-9-]+)*)/i)
    .flatMap((part) => (part === '' ? [] : [byName.get(part) ?? part]))
}

export type When = 'now' | 'at' | 'window'

/** The start of a change. `at`: the value of a `datetime-local` input, in the user's time zone. */
export function startOf(
  when: When,
  at: string,
): { ok: true; start: z.input<typeof ChangeStart> | undefined } | { ok: false; reason: string } {
  if (when === 'now') return { ok: true, start: undefined }
  if (when === 'window') return { ok: true, start: { in_window: true } }
  const iso = isoOf(at)
  return iso === undefined
    ? { ok: false, reason: 'Enter the time at which the change begins' }
    : { ok: true, start: { at: iso } }
}

/**
 * Whether the change may begin: all checks have passed, and each disk that needs it is confirmed.
 */
export function canStart(
  { checks, disks }: Pick<ClusterPlan, 'checks' | 'disks'>,
  ticked: ReadonlySet<string>,
): Verdict {
  const failed = firstFailed(checks)
  if (failed) return refusalBy(failed)
  const unnamed = disks.find((d) => d.by === null)
  if (unnamed)
    return no(
      `${unnamed.device} of ${unnamed.server} can't be distinguished from other disks: empty it first, or choose another disk`,
    )
  return disks.every((d) => ticked.has(keyOf(d as DiskToConfirm)))
    ? yes
    : no('Confirm each disk first')
}

/** Operations that wait for their time or for the maintenance window, the next first. */
export const scheduledOf = (operations: readonly Operation[]): Operation[] =>
  operations
    .filter(isScheduled)
    .toSorted((a, b) => (a.starts_at ?? '').localeCompare(b.starts_at ?? ''))
