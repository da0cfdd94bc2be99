/** Our answers beside Talos's: the same cases, the same form. */
import { createHash } from 'node:crypto'
import { generateConfig, type GenerateInput } from '#talos/config/generate.ts'
import { mergePatches } from '#talos/config/merge.ts'
import { ConfigError } from '#talos/config/tree.ts'
import { validateConfig } from '#talos/config/validate.ts'
import { readSecrets } from '#talos/secrets/bundle.ts'

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

export interface MergeAnswer {
  /** The merged configuration, or `sha256:` and the digest of a long one. */
  text?: string
  refused?: string
  invalid?: string
  warnings?: string[]
}

export interface Answers {
  talos: string
  generate: Record<string, string>
  merge: Record<string, MergeAnswer>
  /** The bundle as Talos writes it. */
  secrets: string
}

const digest = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 16)

export function ourGeneration(cases: Cases, { id: _, ...input }: GenerateCase, talosVersion: string): string {
  return digest(generateConfig({ ...input, talosVersion, secrets: readSecrets(cases.secrets) }))
}

export function ourMerge(cases: Cases, { base, patches }: PatchCase, talosVersion: string): MergeAnswer {
  let text: string
  try {
    text = mergePatches(
      cases.bases[base]!,
      patches.map((body, i) => ({ name: `patch-${i}`, body })),
    ).yaml
  } catch (error) {
    if (error instanceof ConfigError) return { refused: error.message }
    throw error
  }
  const { errors, warnings } = validateConfig(text, { talosVersion })
  return {
    text: text.length > 4000 ? `sha256:${digest(text)}` : text,
    ...(errors.length > 0 && { invalid: errors.map((e) => e.message).join('; ') }),
    ...(warnings.length > 0 && { warnings }),
  }
}

export type Difference = 'other text' | 'only ours is taken' | 'only Talos takes it'

/** How two answers differ in what a person would notice; null where they agree. Where both refuse, neither wording nor the step that refuses counts. */
export function difference(ours: MergeAnswer, talos: MergeAnswer): Difference | null {
  const isTaken = (answer: MergeAnswer) => answer.refused === undefined && answer.invalid === undefined
  if (isTaken(ours) !== isTaken(talos)) return isTaken(ours) ? 'only ours is taken' : 'only Talos takes it'
  return !isTaken(ours) || ours.text === talos.text ? null : 'other text'
}
