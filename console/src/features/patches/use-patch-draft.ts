import * as z from 'zod/mini'
import { type KeptDraft, useDraft } from '../../api/use-draft.ts'
import { type PatchDraft, sameDraft } from './patch-form.ts'

const Kept = z.object({ name: z.string(), weight: z.string(), labels: z.record(z.string(), z.string()), body: z.string(), base: z.nullable(z.int()) })

function read(value: unknown): { draft: PatchDraft; base: number | null } | null {
  const kept = z.safeParse(Kept, value)
  if (!kept.success) return null
  const { base, ...draft } = kept.data
  return { draft, base }
}

const how = { read, same: sameDraft }

/** The form's state, kept while it differs from `saved`. `base` is the version that it was read at. */
export const usePatchDraft = (name: string, saved: PatchDraft, base: number | null): KeptDraft<PatchDraft> => useDraft(name, saved, base, how)
