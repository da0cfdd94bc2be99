/** Computes our results for the cases that Talos has answered, in the format of Talos's answers. */
import { createHash } from 'node:crypto'
import type { Messages } from '#talos/config/cel/types.ts'
import { generateConfig, type GenerateInput } from '#talos/config/generate.ts'
import { mergePatches } from '#talos/config/merge.ts'
import { ConfigError } from '#talos/config/problem.ts'
import { validateConfig } from '#talos/config/validate.ts'
import { readSecrets } from '#talos/secrets/bundle.ts'
import { isSince, type Minor } from '#talos/versions.ts'
import type { Profile } from './certificates.ts'

export interface GenerateCase extends Omit<GenerateInput, 'talosVersion' | 'secrets'> {
  id: string
}

export interface PatchCase {
  id: string
  /** Key in `bases` of the configuration that is patched. */
  base: string
  patches: string[]
  /** The first minor that is asked; older ones don't know the documents. */
  since?: Minor
}

export interface Cases {
  /** A `secrets.yaml` of talosctl that belongs to no cluster. */
  secrets: string
  generate: GenerateCase[]
  bases: Readonly<Record<string, string>>
  patches: PatchCase[]
}

/**
 * Talos's answers by `keyOf` of the case: the digest of the resulting text, or `refused: ` and the
 * reason.
 */
export interface Answers {
  talos: string
  answers: Record<string, string>
  /** The secrets bundle as Talos writes it. */
  secrets: string
  /** Answers about expressions: see `ourAnswers`. */
  expressions: Record<string, string>
  /** The fields that expressions may name, with their types. */
  messages: Messages
  /** The fields of Talos's and of our certificates as Go reads them, by the id of the case. */
  certificates: Record<'talos' | 'ours', Record<string, Profile>>
}

const digest = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 16)

/**
 * Key of a case: the digest of its content. A changed case gets another key, so an outdated answer
 * is never used for it.
 */
export const keyOf = (question: GenerateCase | PatchCase, bases: Cases['bases']): string =>
  digest(
    JSON.stringify(
      'patches' in question
        ? [bases[question.base], question.patches]
        : { ...question, id: undefined },
    ),
  )

export function ourGeneration(cases: Cases, one: GenerateCase, talosVersion: string): string {
  return digest(generateConfig({ ...one, talosVersion, secrets: readSecrets(cases.secrets) }))
}

/** The patches that a Talos version is asked. */
export const patchesFor = ({ patches }: Cases, talosVersion: string): PatchCase[] =>
  patches.filter(({ since }) => since === undefined || isSince(talosVersion, since))

/** The merged text, or the error if the merge fails. */
function mergedText(
  bases: Cases['bases'],
  { base, patches }: PatchCase,
  talosVersion: string,
): string | ConfigError {
  try {
    const layers = patches.map((body, i) => ({ name: `patch-${i}`, body }))
    return mergePatches(bases[base]!, layers, { talosVersion }).yaml
  } catch (error) {
    if (error instanceof ConfigError) return error
    throw error
  }
}

/** By the minor whose rules apply: 1.12 and 1.13 merge alike. */
const merged = { older: new Map(), newer: new Map() } satisfies Record<
  string,
  Map<PatchCase, string | ConfigError>
>

/** The digest of our merged text, or the reason why the merge or the validation fails. */
export function ourMerge(cases: Cases, one: PatchCase, talosVersion: string): string {
  const known: Map<PatchCase, string | ConfigError> = isSince(talosVersion, '1.14')
    ? merged.newer
    : merged.older
  const text = known.get(one) ?? mergedText(cases.bases, one, talosVersion)
  known.set(one, text)
  if (text instanceof ConfigError) return `refused: ${text.message}`
  const { errors } = validateConfig(text, { talosVersion })
  return errors.length > 0 ? `refused: ${errors.map((e) => e.message).join('; ')}` : digest(text)
}

export type Difference = 'other text' | 'only ours is taken' | 'only Talos takes it'

/**
 * How two answers differ, or null if they agree. Two refusals agree even if they have different
 * wordings or come from different steps.
 */
export function difference(ours: string, talos: string): Difference | null {
  const isRefused = (answer: string) => answer.startsWith('refused: ')
  if (isRefused(ours) !== isRefused(talos))
    return isRefused(talos) ? 'only ours is taken' : 'only Talos takes it'
  return isRefused(ours) || ours === talos ? null : 'other text'
}
