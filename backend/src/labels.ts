/** What a change of labels and notes writes, for every kind of object that has them. */
import { changedLabels } from '#contract/labels/changed.ts'
import { canHaveLabels, type LabelChange, relabelled } from '#contract/labels/labels.ts'
import type { Labels } from '#contract/labels/selector.ts'
import { Problem } from '#contract/errors.ts'

interface Labelled {
  readonly labels: Labels
  readonly notes: string
}
interface Change {
  readonly labels?: LabelChange | undefined
  readonly notes?: string | undefined
}
interface Entry {
  /** The verb of the audit action. */
  readonly what: 'labelled' | 'noted'
  readonly before: object
  readonly after: object
}

/**
 * The columns to write, and the audit entries; none if nothing changes. @throws Problem invalid if
 * the object would have too many labels
 */
export function relabelling(
  { labels, notes }: Labelled,
  change: Change,
): { columns: { labels?: string; notes?: string }; entries: readonly Entry[] } {
  const now = relabelled(labels, change.labels ?? {})
  const verdict = canHaveLabels(now)
  if (!verdict.ok) throw new Problem('invalid', verdict.reason, { labels: verdict.reason })
  const changed = changedLabels(labels, now)
  const isLabelled = changed !== ''
  const isNoted = change.notes !== undefined && change.notes !== notes
  return {
    columns: {
      ...(isLabelled && { labels: JSON.stringify(now) }),
      ...(isNoted && { notes: change.notes }),
    },
    entries: [
      ...(isLabelled
        ? [{ what: 'labelled' as const, before: { labels }, after: { labels: now, changed } }]
        : []),
      ...(isNoted
        ? [{ what: 'noted' as const, before: { notes }, after: { notes: change.notes } }]
        : []),
    ],
  }
}
