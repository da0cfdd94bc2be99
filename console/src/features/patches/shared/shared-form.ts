/** The form of a shared patch: values, validation by the contract's rules, and the request body. */
import * as z from 'zod/mini'
import { selectorOf, selectorSentence } from '#contract/labels/selector.ts'
import { patchLimits, tooLongPatch } from '#contract/patches.ts'
import {
  NewSharedPatch,
  type SharedPatch,
  type SharedPatchChange,
  type Targets,
} from '#contract/shared-patches/shared-patches.ts'
import { unknownVariable, unknownVariableSentence } from '#contract/shared-patches/variables.ts'
import { type Read, readBy } from '../../../lib/fields.ts'
import { cliOf } from '../../../lib/shell.ts'
import type { Chip } from '../../../ui/inputs/ChipsInput.tsx'
import { bodyBytes, weightOf } from '../patch-form.ts'
import type { Names } from './shared-state.ts'

const chips = z.array(z.object({ value: z.string(), text: z.string() }))
/** The values of the form, and the schema of a stored draft. */
export const SharedDraft = z.object({
  name: z.string(),
  /** As typed. */
  weight: z.string(),
  body: z.string(),
  /** Selectors. */
  labels: chips,
  control_planes: z.boolean(),
  workers: z.boolean(),
  clusters: chips,
  servers: chips,
})
export type SharedDraft = z.infer<typeof SharedDraft>

const emptyShared: SharedDraft = {
  name: '',
  weight: String(patchLimits.weight.default),
  body: '',
  labels: [],
  control_planes: false,
  workers: false,
  clusters: [],
  servers: [],
}

/** The form of a saved patch, or of a new one. A server whose name isn't known shows its id. */
export function sharedDraftOf(
  patch: Pick<SharedPatch, 'name' | 'weight' | 'body' | 'targets'> | null,
  names: { clusters: Names; servers: Names },
): SharedDraft {
  if (patch === null) return emptyShared
  const { name, weight, body, targets } = patch
  const named = (ids: readonly string[], known: Names): Chip[] =>
    ids.map((id) => ({ value: id, text: known.get(id) ?? id }))
  return {
    name,
    weight: String(weight),
    body,
    labels: targets.labels.map((text) => ({ value: text, text })),
    control_planes: targets.roles.includes('control_plane'),
    workers: targets.roles.includes('worker'),
    clusters: named(targets.cluster_ids, names.clusters),
    servers: named(targets.node_ids, names.servers),
  }
}

export const selectorChip = (text: string): Chip | null =>
  selectorOf(text) === null ? null : { value: text, text }

const valuesOf = (of: readonly Chip[]): string[] => of.map(({ value }) => value)
const targetsOf = (draft: SharedDraft): Targets => ({
  labels: valuesOf(draft.labels),
  cluster_ids: valuesOf(draft.clusters),
  roles: [
    ...(draft.control_planes ? (['control_plane'] as const) : []),
    ...(draft.workers ? (['worker'] as const) : []),
  ],
  node_ids: valuesOf(draft.servers),
})

const fieldsOfTargets: Readonly<Record<string, keyof SharedDraft>> = {
  labels: 'labels',
  cluster_ids: 'clusters',
  roles: 'workers',
  node_ids: 'servers',
}
/** The API's fields as those of the form: `targets.labels.0` is at the field of labels. */
export const toFormFields = (
  refused: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(refused).map(([path, sentence]) => {
      const [first, kind = ''] = path.split('.')
      return [first === 'targets' ? (fieldsOfTargets[kind] ?? 'labels') : first, sentence]
    }),
  )

const isWrong = ({ value }: Chip): boolean => selectorOf(value) === null

/** The requested patch, or a sentence per field. */
export function readShared(draft: SharedDraft): Read<NewSharedPatch> {
  const unknown = unknownVariable(draft.body)
  const read = readBy(
    NewSharedPatch,
    {
      name: draft.name.trim(),
      weight: weightOf(draft.weight),
      body: draft.body,
      targets: targetsOf(draft),
    },
    {
      ...(Number.isNaN(weightOf(draft.weight)) && { weight: 'Weight must be a whole number' }),
      ...(draft.body.trim() === '' && { body: 'Enter a patch' }),
      ...(unknown !== null && {
        body: `Line ${unknown.line}: ${unknownVariableSentence(unknown.name)}`,
      }),
      ...(bodyBytes(draft.body) > patchLimits.bodyBytes && { body: tooLongPatch }),
      ...(draft.labels.some(isWrong) && { labels: selectorSentence }),
    },
  )
  return read.ok ? read : { ok: false, fields: toFormFields(read.fields) }
}

/** The changed fields. Only these are sent. */
export function sharedChanges(
  next: NewSharedPatch,
  saved: Pick<SharedPatch, 'name' | 'weight' | 'body' | 'targets'>,
): SharedPatchChange {
  return {
    ...(next.name !== saved.name && { name: next.name }),
    ...(next.weight !== saved.weight && { weight: next.weight }),
    ...(next.body !== saved.body && { body: next.body }),
    ...(!sameTargets(next.targets, saved.targets) && { targets: next.targets }),
  }
}

const sameTexts = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((one) => b.includes(one))
const sameTargets = (a: Targets, b: Targets): boolean =>
  (['labels', 'cluster_ids', 'roles', 'node_ids'] as const).every((kind) =>
    sameTexts(a[kind], b[kind]),
  )

/** Problems of the body by line, from sentences that begin with "Line 3:" or "Line 3, column 4:". */
export const problemsOf = (sentences: string | undefined) =>
  (sentences ?? '').split('\n').flatMap((sentence) => {
    const [, line, message] = /^Line (\d+)(?:, column \d+)?: (.*)$/.exec(sentence) ?? []
    return line === undefined ? [] : [{ line: Number(line), message: message! }]
  })

/** The CLI command that saves the patch. */
export const saveCommand = (draft: SharedDraft): string => {
  const { labels, roles } = targetsOf(draft)
  const named = [...labels, ...roles, ...draft.clusters, ...draft.servers]
  return cliOf(['shared-patch', 'save', draft.name.trim()], {
    file: 'patch.yaml',
    weight: draft.weight,
    selector: labels,
    role: roles,
    cluster: draft.clusters.map(({ text }) => text),
    server: draft.servers.map(({ text }) => text),
    'no-targets': named.length === 0,
  })
}
