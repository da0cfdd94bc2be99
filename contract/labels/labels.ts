/**
 * Labels and notes of servers and clusters. Labels only sort objects for people: they are never sent
 * to a server. Their grammar is that of Kubernetes
 * (https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set).
 */
import * as z from 'zod/mini'
import { mostKeys } from '../bounds/fields.ts'
import { seen } from '../names.ts'
import type { Words } from '../operation.ts'
import { no, type Verdict, yes } from '../rule.ts'
import { count } from '../words.ts'
import { labelKey, labelName, type Labels } from './selector.ts'

export const labelLimits = {
  labels: 64,
  /** Characters of a key without its prefix, and of a value. */
  name: 63,
  /** Characters of the prefix of a key, which is a DNS name. */
  prefix: 253,
  notesBytes: 4096,
} as const

const key = z
  .string()
  .check(
    z.maxLength(labelLimits.prefix + 1 + labelLimits.name, 'The key of the label is too long'),
    z.regex(
      new RegExp(`^${labelKey}$`),
      `A label key has up to ${labelLimits.name} letters, digits, dots, underscores and hyphens, and begins and ends with a letter or digit; a DNS name and a slash may stand before it`,
    ),
  )
const valueSentence = `A label value is empty or has up to ${labelLimits.name} letters, digits, dots, underscores and hyphens, and begins and ends with a letter or digit`
const value = z
  .string()
  .check(
    z.maxLength(labelLimits.name, valueSentence),
    z.regex(new RegExp(`^(?:${labelName})?$`), valueSentence),
  )
const tooMany = `An object has at most ${labelLimits.labels} labels`
const atMost = (most: number) => mostKeys(most, tooMany)

/** All labels of an object. */
export const AllLabels = z.record(key, value).check(atMost(labelLimits.labels))
/** A change of labels: each is set to its value, or removed if that is null; others stay. */
export const LabelChange = z.record(key, z.nullable(value)).check(atMost(2 * labelLimits.labels))
export type LabelChange = z.infer<typeof LabelChange>

/** The labels after a change, by their keys. */
export const relabelled = (labels: Labels, change: LabelChange): Labels =>
  Object.fromEntries(
    Object.entries({ ...labels, ...change })
      .flatMap(([name, text]) => (text === null ? [] : [[name, text] as const]))
      .toSorted(([a], [b]) => (a < b ? -1 : 1)),
  )

/** Whether an object may have these labels. */
export const canHaveLabels = (labels: Labels): Verdict => {
  const n = Object.keys(labels).length
  return n <= labelLimits.labels ? yes : no(`${tooMany}, and these would be ${count(n)}`)
}

export const Notes = z.string().check(
  z.trim(),
  z.refine((text) => new TextEncoder().encode(text).length <= labelLimits.notesBytes, {
    error: 'Notes have at most 4 KiB',
  }),
  seen(),
)

/** Fields of a call that changes an object with labels. */
export const labelling = {
  labels: z.optional(LabelChange),
  notes: z.optional(Notes),
}

/** Words for the API documentation. */
export const words: Words = {
  fields: {
    label:
      'Only objects with these labels: `rack=3`, `gen!=r640`, `rack`, `!rack`, `rack in (3,4)`, `gen notin (r640)`, with commas between.',
    'serverUpdate.labels':
      'Labels to set, by key; null removes one, and labels that are not named stay. At most 64, as Kubernetes writes them.',
    'serverUpdate.notes': 'Text for people, at most 4 KiB; empty removes it.',
    'clusterUpdate.notes': 'Text for people, at most 4 KiB; empty removes it.',
    'clusterUpdate.labels':
      'Labels to set, by key; null removes one, and labels that are not named stay. At most 64, as Kubernetes writes them.',
  },
}
