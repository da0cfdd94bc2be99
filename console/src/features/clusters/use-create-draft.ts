import { useCallback, useEffect, useState } from 'react'
import { readDraft, removeDraft, writeDraft } from '../../api/drafts.ts'
import { newKey } from '../../api/http.ts'
import { useUser } from '../../api/session.ts'
import { blank, type Draft, readKept } from './create-draft.ts'

const name = 'cluster/new'

/** The draft of the creation, kept in this browser until the cluster is created or the draft discarded. Null until it has been looked for. */
export function useCreateDraft(): {
  draft: Draft | null
  change: (patch: Partial<Draft> | ((now: Draft) => Partial<Draft>)) => void
  discard: () => Promise<void>
  /** Idempotency-Key of the creation: the same while what is asked stays the same. Not called `key`, which React takes for itself. */
  attempt: string
} {
  const userId = useUser()?.id
  const [draft, setDraft] = useState<Draft | null>(null)
  const [attempt, setAttempt] = useState(newKey)
  useEffect(() => {
    let gone = false
    if (userId === undefined) return undefined
    void readDraft(userId, name).then((kept) => gone || setDraft((now) => now ?? (kept ? readKept(kept.value) : null) ?? blank))
    return () => {
      gone = true
    }
  }, [userId])
  useEffect(() => {
    if (draft === null || draft === blank || userId === undefined) return undefined
    const timer = setTimeout(() => void writeDraft(userId, name, draft), 250)
    return () => clearTimeout(timer)
  }, [draft, userId])
  const change = useCallback((patch: Partial<Draft> | ((now: Draft) => Partial<Draft>)) => {
    setDraft((now) => ({ ...(now ?? blank), ...(typeof patch === 'function' ? patch(now ?? blank) : patch) }))
    setAttempt(newKey())
  }, [])
  const discard = useCallback(async () => {
    setDraft(blank)
    if (userId !== undefined) await removeDraft(userId, name)
  }, [userId])
  return { draft, change, discard, attempt }
}
