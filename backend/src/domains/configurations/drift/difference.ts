/**
 * Computes what others have changed in a machine's configuration, how the change is shown, and how
 * it could be kept. Pure: it runs on the worker thread.
 */
import { problemSentence } from '#contract/patches.ts'
import type { Drift } from '#contract/servers/drift.ts'
import { apart, compareConfigs, patchBetween } from '#talos/config/compare.ts'
import { mergePatches } from '#talos/config/merge.ts'
import { ConfigError } from '#talos/config/problem.ts'
import type { MachineImages } from '#talos/facts/images.ts'
import { checkBody } from '../composing/render.ts'
import { maskText, secretsOf } from '../composing/masking.ts'

export interface Difference {
  readonly same: boolean
  /**
   * All images of the machine's configuration if others have changed one of them, else null.
   * Changed images are adopted and don't count as a difference.
   */
  readonly images: MachineImages | null
  readonly diff: { readonly before: string; readonly after: string } | null
  readonly keep: Drift['keep']
  /** Where keys and authorities of the cluster differ: `cluster.ca`. */
  readonly secrets: readonly string[]
  /** The machine's Kubernetes API is another cluster's: another authority issues its certificates. */
  readonly hasOtherKubernetes: boolean
  /** The difference as a patch with plaintext secrets; null if no patch can express it. */
  readonly patch: string | null
}

const patchName = 'what others have changed'

/**
 * Why a proposed patch can't be used (merging it doesn't give the machine's configuration, or it
 * violates the rules for patches), or null.
 */
function tried(proposal: string, held: string, found: string, talosVersion: string): string | null {
  const [refusal] = checkBody(proposal, talosVersion)
  if (refusal) return problemSentence(refusal)
  try {
    const merged = mergePatches(apart(held).known, [{ name: patchName, body: proposal }]).yaml
    return compareConfigs(merged, apart(found).known).same
      ? null
      : 'merging it would not give the same configuration'
  } catch (error) {
    if (error instanceof ConfigError) return error.problems[0]?.message ?? 'It cannot be merged'
    throw error
  }
}

/**
 * @param held the configuration that was sent to the machine, or its last known configuration
 * @param found the machine's current configuration
 */
export function differenceOf(held: string, found: string, talosVersion: string): Difference {
  if (held === found)
    return {
      same: true,
      images: null,
      diff: null,
      keep: null,
      secrets: [],
      hasOtherKubernetes: false,
      patch: null,
    }
  let compared: ReturnType<typeof compareConfigs>
  try {
    compared = compareConfigs(held, found)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const reason = `It cannot be read: ${error.problems[0]?.message ?? 'it is not YAML'}`
    return {
      same: false,
      images: null,
      diff: { before: maskText(held, 'everybody').text, after: `# ${reason}\n` },
      keep: { how: 'base', reason },
      secrets: [],
      hasOtherKubernetes: false,
      patch: null,
    }
  }
  const { same, images, documents, secrets, hasOtherKubernetes } = compared
  const told = { same, images, secrets, hasOtherKubernetes }
  if (same) return { ...told, diff: null, keep: null, patch: null }
  const text = (side: 'before' | 'after') =>
    documents.flatMap((d) => d[side]?.yaml ?? []).join('---\n')
  const [before, after] = [text('before'), text('after')]
  const diff = {
    before: maskText(before, 'everybody').text,
    after: maskText(after, 'everybody', secretsOf(before, 'everybody')).text,
  }
  if (secrets.length > 0) {
    const reason = `It changes keys of the cluster (${secrets.join(', ')}): import the cluster's new secrets, or overwrite it`
    return {
      ...told,
      diff: named(diff, secrets),
      keep: { how: 'secrets', reason },
      patch: null,
    }
  }
  const proposal = patchBetween(compared)
  const refusal =
    proposal === null
      ? 'elements of a list were removed or changed, or a document has an unknown kind'
      : tried(proposal, before, after, talosVersion)
  if (proposal !== null && refusal === null)
    return {
      ...told,
      diff,
      keep: { how: 'patch', reason: 'If kept, the difference becomes a patch of the server' },
      patch: proposal,
    }
  const reason = `If kept, the machine's whole configuration, which includes the current patches, becomes the base of the server's patches, because the difference cannot be expressed as a patch: ${refusal}`
  return { ...told, diff, keep: { how: 'base', reason }, patch: null }
}

/** Names changed secrets in a comment, because their masks are the same before and after. */
const named = (
  { before, after }: { before: string; after: string },
  secrets: readonly string[],
) => ({
  before,
  after: `${after}# Changed, and not shown: ${secrets.join(', ')}\n`,
})
