/** Our answers beside Talos's: the same cases, the same form. */
import { createHash } from 'node:crypto'
import { generateConfig, type GenerateInput } from '#talos/config/generate.ts'
import { mergePatches } from '#talos/config/merge.ts'
import { ConfigError } from '#talos/config/tree.ts'
import { validateConfig } from '#talos/config/validate.ts'
import { readSecrets } from '#talos/secrets/bundle.ts'
import type { Profile } from './certificates.ts'

export interface GenerateCase extends Omit<GenerateInput, 'talosVersion' | 'secrets'> {
  id: string
}

export interface PatchCase {
  id: string
  /** Name of one of `bases`. */
  base: string
  patches: string[]
}

export interface Cases {
  /** talosctl's secrets.yaml, of no cluster. */
  secrets: string
  generate: GenerateCase[]
  bases: Readonly<Record<string, string>>
  patches: PatchCase[]
}

/** Talos's answers by `keyOf` each case: the digest of the text that came of it, or `refused: ` and why. */
export interface Answers {
  talos: string
  answers: Record<string, string>
  /** The secrets bundle as Talos writes it. */
  secrets: string
  /** Certificates of both sides by the id of their case, as Go reads them. */
  certificates: Record<'talos' | 'ours', Record<string, Profile>>
}

const digest = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 16)

/** Names a case by what it holds, so that an answer never belongs to another question. */
export const keyOf = (question: GenerateCase | PatchCase, bases: Cases['bases']): string =>
  digest(JSON.stringify('patches' in question ? [bases[question.base], question.patches] : { ...question, id: undefined }))

export function ourGeneration(cases: Cases, one: GenerateCase, talosVersion: string): string {
  return digest(generateConfig({ ...one, talosVersion, secrets: readSecrets(cases.secrets) }))
}

/** What we merge, which no version of Talos changes, or the error that refuses it. */
function mergedText(bases: Cases['bases'], { base, patches }: PatchCase): string | ConfigError {
  try {
    const layers = patches.map((body, i) => ({ name: `patch-${i}`, body }))
    return mergePatches(bases[base]!, layers).yaml
  } catch (error) {
    if (error instanceof ConfigError) return error
    throw error
  }
}

const merged = new Map<PatchCase, string | ConfigError>()

/** The digest of what we merge, or why we refuse: while merging, or when what came of it is validated. */
export function ourMerge(cases: Cases, one: PatchCase, talosVersion: string): string {
  const text = merged.get(one) ?? mergedText(cases.bases, one)
  merged.set(one, text)
  if (text instanceof ConfigError) return `refused: ${text.message}`
  const { errors } = validateConfig(text, { talosVersion })
  return errors.length > 0 ? `refused: ${errors.map((e) => e.message).join('; ')}` : digest(text)
}

export type Difference = 'other text' | 'only ours is taken' | 'only Talos takes it'

/** How two answers differ; null where they agree. Where both refuse, neither the wording nor the step that refuses counts. */
export function difference(ours: string, talos: string): Difference | null {
  const isRefused = (answer: string) => answer.startsWith('refused: ')
  if (isRefused(ours) !== isRefused(talos)) return isRefused(talos) ? 'only ours is taken' : 'only Talos takes it'
  return isRefused(ours) || ours === talos ? null : 'other text'
}
