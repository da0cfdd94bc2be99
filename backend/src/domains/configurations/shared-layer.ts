/** The layers that users write, and those among them that come from shared patches. */
import * as z from 'zod/mini'
import type { PreviewWarning } from '#contract/patches.ts'

/**
 * One layer of a server's configuration that users wrote. Layers merge by weight; of equal weight,
 * shared ones first, then by age and id.
 */
export interface StoredLayer {
  readonly id: string
  readonly name: string
  readonly weight: number
  /** YAML with plaintext secrets. */
  readonly body: string
  /** Names of the links that it configures. */
  readonly links: readonly string[]
  readonly created_at: Date
  /** The layer comes from a shared patch: it stands before others of its weight. */
  readonly isShared?: true
}

/** What a server has of a shared patch: the patch with the values of its variables. */
export const SharedLayer = z.object({
  name: z.string(),
  weight: z.int(),
  /** YAML with plaintext secrets. */
  body: z.string(),
  revision: z.int(),
  links: z.array(z.string()),
  filled: z.record(z.string(), z.string()),
})
export type SharedLayer = z.infer<typeof SharedLayer>

/** A change of what a server has of a shared patch. */
export interface SharedChange {
  readonly patch_id: string
  /** Null takes the layer away. */
  readonly layer: SharedLayer | null
  /** The roll-out to which the change belongs. */
  readonly roll_out_id?: string
}

/**
 * Why a roll-out of a shared patch leaves the server out: it lacks a link that the patch names. One
 * patch for many servers names a wrong link more often than one that a person wrote for a server.
 */
export const missingLink = ({
  warnings,
}: {
  readonly warnings: readonly PreviewWarning[]
}): string | null =>
  warnings.find(({ check, link }) => check === null && link !== null)?.message ?? null
