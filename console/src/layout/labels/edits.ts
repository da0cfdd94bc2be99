/** What the editors of labels read. */
import * as z from 'zod/mini'
import { AllLabels, LabelChange, Notes } from '#contract/labels/labels.ts'
import type { Labels } from '#contract/labels/selector.ts'
import { type Read, readBy } from '../../lib/fields.ts'
import type { Labelled } from './labelled.ts'

export interface Relabelling {
  labels?: LabelChange
  notes?: string
}

/** The labels to set and, with null, to remove, so that those of others stay. */
export const changeOf = (before: Labels, after: Labels): LabelChange => ({
  ...Object.fromEntries(
    Object.keys(before)
      .filter((key) => !Object.hasOwn(after, key))
      .map((key) => [key, null]),
  ),
  ...Object.fromEntries(
    Object.entries(after).filter(
      ([key, value]) => !Object.hasOwn(before, key) || before[key] !== value,
    ),
  ),
})

/** The change that takes another one back. */
export const backOf = (before: Labels, change: LabelChange): LabelChange =>
  Object.fromEntries(
    Object.keys(change).map((key) => [key, Object.hasOwn(before, key) ? before[key]! : null]),
  )

/** The schema library leaves this key out of a record instead of refusing it. */
const leftOut = (labels: Labels): string | null =>
  Object.hasOwn(labels, '__proto__') ? "A label key can't be __proto__" : null

const Editing = z.strictObject({ labels: AllLabels, notes: Notes })

/** The first sentence about labels, with the key that it is about. */
export function labelProblem(fields: Readonly<Record<string, string>>): string | null {
  const found = Object.entries(fields).find(([path]) => path.split('.')[0] === 'labels')
  if (found === undefined) return null
  const key = found[0].slice('labels.'.length)
  return key === '' ? found[1] : `${key.slice(0, 40)}: ${found[1]}`
}

/** What to send after an edit; a sentence at each field that breaks a rule. */
export function readEdit(
  before: Pick<Labelled, 'labels' | 'notes'>,
  after: Pick<Labelled, 'labels' | 'notes'>,
): Read<Relabelling> {
  const odd = leftOut(after.labels)
  const read = readBy(Editing, after, odd === null ? {} : { labels: odd })
  if (!read.ok) {
    const problem = labelProblem(read.fields)
    const { notes } = read.fields
    return { ok: false, fields: { ...(problem && { labels: problem }), ...(notes && { notes }) } }
  }
  const labels = changeOf(before.labels, read.body.labels)
  return {
    ok: true,
    body: {
      ...(Object.keys(labels).length > 0 && { labels }),
      ...(read.body.notes !== before.notes && { notes: read.body.notes }),
    },
  }
}

export interface BulkEdit {
  set: Record<string, string>
  /** Keys, as labels without a value. */
  remove: Record<string, string>
}
/** The change of every server; a sentence at the field that breaks a rule. */
export function readBulk({ set, remove }: BulkEdit): Read<LabelChange> {
  const both = Object.keys(remove).find((key) => Object.hasOwn(set, key))
  if (both !== undefined)
    return { ok: false, fields: { remove: `${both} can't be set and removed at once` } }
  const valued = Object.entries(remove).find(([, value]) => value !== '')
  if (valued)
    return { ok: false, fields: { remove: `Enter only the key of a label: ${valued[0]}` } }
  const odd = leftOut(set)
  if (odd !== null) return { ok: false, fields: { set: odd } }
  const change = {
    ...set,
    ...Object.fromEntries(Object.keys(remove).map((key) => [key, null])),
  }
  const read = readBy(LabelChange, change)
  if (read.ok) return read
  const labels = Object.fromEntries(
    Object.entries(read.fields).map(([path, sentence]) => [`labels.${path}`, sentence]),
  )
  return { ok: false, fields: { set: labelProblem(labels) ?? 'These labels break a rule' } }
}

/** `rack=3`, `gen-`: a change as the command line takes it. */
export const changeWords = (change: LabelChange): string[] =>
  Object.entries(change).map(([key, value]) => (value === null ? `${key}-` : `${key}=${value}`))
