/** The beginnings of the bodies of shared patches, for their list. */
import type { Excerpt } from '#contract/bounds/excerpt.ts'
import { sharedPatchLimits } from '#contract/shared-patches/shared-patches.ts'
import { excerptOf } from '../../../excerpt.ts'
import type { For } from '../../../reading/asker.ts'
import { audienceOf } from '../parts.ts'
import type { Filling } from './filling.ts'
import type { SharedPatchRow } from './store.ts'

/** Those of each patch for the two audiences. */
const mostKept = 2 * sharedPatchLimits.patches

/**
 * Returns the excerpt of a body as the caller may read it. Masking reads the whole body on the
 * thread for texts, so the excerpt is kept until the patch changes.
 */
export function bodyExcerpts(fills: Pick<Filling, 'shown'>) {
  const kept = new Map<string, Excerpt>()
  return async (who: For, row: Pick<SharedPatchRow, 'id' | 'version' | 'body'>) => {
    const audience = audienceOf(who.caller)
    const key = `${row.id} ${row.version} ${audience}`
    const known = kept.get(key)
    if (known) return known
    const excerpt = excerptOf(await fills.shown(who, row.body, audience))
    kept.set(key, excerpt)
    if (kept.size > mostKept) kept.delete(kept.keys().next().value!)
    return excerpt
  }
}
