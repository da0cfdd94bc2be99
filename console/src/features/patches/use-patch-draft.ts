import { useEffect, useRef, useState } from 'react'
import * as z from 'zod/mini'
import { readDraft, removeDraft, writeDraft } from '../../api/drafts.ts'
import { useUser } from '../../api/session.ts'
import { type PatchDraft, sameDraft } from './patch-form.ts'

const Kept = z.object({ name: z.string(), weight: z.string(), labels: z.record(z.string(), z.string()), body: z.string(), base: z.nullable(z.int()) })

/** How long typing pauses, in ms, before it is kept. */
const keepAfterMs = 400

export interface KeptDraft {
  draft: PatchDraft
  setDraft: (change: Partial<PatchDraft>) => void
  dirty: boolean
  /** When the draft was kept that was found and put back; null where there was none. */
  restored: { savedAt: number; older: boolean } | null
  /** Back to what is saved. */
  discard: () => void
  /** It was saved: nothing is kept any more, and the page may be left. */
  settle: () => Promise<void>
}

/** The form's state, kept while it differs from `saved`. `base` is the version that it was read at. */
export function usePatchDraft(name: string, saved: PatchDraft, base: number | null): KeptDraft {
  const userId = useUser()?.id
  const [draft, set] = useState(saved)
  const [restored, setRestored] = useState<KeptDraft['restored']>(null)
  const [settled, setSettled] = useState(false)
  const looked = useRef(false)
  const dirty = !settled && !sameDraft(draft, saved)
  useEffect(() => {
    if (userId === undefined || looked.current) return
    looked.current = true
    const putBack = async () => {
      const found = await readDraft(userId, name)
      const kept = z.safeParse(Kept, found?.value)
      if (!kept.success || found === undefined) return
      const { base: keptAt, ...was } = kept.data
      if (sameDraft(was, saved)) return
      // Whoever began to type before it was found goes on with what is typed.
      set((now) => {
        if (!sameDraft(now, saved)) return now
        setRestored({ savedAt: found.savedAt, older: keptAt !== base })
        return was
      })
    }
    void putBack()
  }, [userId, name, saved, base])
  useEffect(() => {
    if (userId === undefined || !dirty) return undefined
    const timer = setTimeout(() => void writeDraft(userId, name, { ...draft, base } satisfies z.infer<typeof Kept>), keepAfterMs)
    return () => clearTimeout(timer)
  }, [userId, name, draft, dirty, base])
  const forget = async () => {
    if (userId !== undefined) await removeDraft(userId, name)
  }
  return {
    draft,
    setDraft: (change) => {
      setSettled(false)
      set((now) => ({ ...now, ...change }))
    },
    dirty,
    restored,
    discard: () => {
      set(saved)
      setRestored(null)
      void forget()
    },
    settle: async () => {
      setSettled(true)
      await forget()
    },
  }
}
