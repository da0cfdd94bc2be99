import { useEffect, useMemo, useRef, useState } from 'react'
import { readDraft, removeDraft } from './drafts.ts'
import { useUser } from './session.ts'
import { useKeep } from './use-keep.ts'

export interface KeptDraft<T> {
  draft: T
  setDraft: (change: Partial<T>) => void
  dirty: boolean
  /** When the draft was kept that was found and put back; null where there was none. */
  restored: { savedAt: number; older: boolean } | null
  /** Back to what is saved. */
  discard: () => void
  /** It was saved: nothing is kept any more, and the page may be left. */
  settle: () => Promise<void>
}

/**
 * A form's state, kept in this browser while it differs from `saved`. `base` is the version that it was read at; `read` makes of a kept value what it is,
 * or null where it is none of ours, and must be the same function from one drawing to the next, as `same` must.
 */
export function useDraft<T extends object>(
  name: string,
  saved: T,
  base: number | null,
  { read, same }: { read: (value: unknown) => { draft: T; base: number | null } | null; same: (a: T, b: T) => boolean },
): KeptDraft<T> {
  const userId = useUser()?.id
  const [draft, set] = useState(saved)
  const [restored, setRestored] = useState<KeptDraft<T>['restored']>(null)
  const [settled, setSettled] = useState(false)
  const looked = useRef(false)
  const dirty = !settled && !same(draft, saved)
  useEffect(() => {
    if (userId === undefined || looked.current) return
    looked.current = true
    const putBack = async () => {
      const found = await readDraft(userId, name)
      const kept = found === undefined ? null : read(found.value)
      if (kept === null || found === undefined || same(kept.draft, saved)) return
      // Whoever began to type before it was found goes on with what is typed.
      set((now) => {
        if (!same(now, saved)) return now
        setRestored({ savedAt: found.savedAt, older: kept.base !== base })
        return kept.draft
      })
    }
    void putBack()
  }, [userId, name, saved, base, read, same])
  useKeep(
    name,
    useMemo(() => (dirty ? { ...draft, base } : undefined), [draft, base, dirty]),
  )
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
