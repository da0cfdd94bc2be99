import { useCallback, useEffect, useState } from 'react'
import { readDraft as readStored, removeDraft, writeDraft } from '../../api/drafts.ts'
import { newKey } from '../../api/http.ts'
import { useUser } from '../../api/session.ts'
import { blank, type Draft, readKept } from './image-form.ts'

const name = 'image/new'
/** How long typing pauses, in ms, before it is kept. */
const keepAfterMs = 250

/** What is chosen, kept in this browser. Null until it has been looked for. `attempt` is the Idempotency-Key: the same while what is asked stays the same. */
export function useImageDraft(): { draft: Draft | null; change: (patch: Partial<Draft>) => void; discard: () => void; attempt: string } {
  const userId = useUser()?.id
  const [draft, setDraft] = useState<Draft | null>(null)
  const [attempt, setAttempt] = useState(newKey)
  useEffect(() => {
    let gone = false
    if (userId === undefined) return undefined
    void readStored(userId, name).then((kept) => gone || setDraft((now) => now ?? (kept ? readKept(kept.value) : null) ?? blank))
    return () => {
      gone = true
    }
  }, [userId])
  useEffect(() => {
    if (draft === null || draft === blank || userId === undefined) return undefined
    const timer = setTimeout(() => void writeDraft(userId, name, draft), keepAfterMs)
    return () => clearTimeout(timer)
  }, [draft, userId])
  const change = useCallback((patch: Partial<Draft>) => {
    setDraft((now) => ({ ...(now ?? blank), ...patch }))
    setAttempt(newKey())
  }, [])
  const discard = useCallback(() => {
    setDraft(blank)
    setAttempt(newKey())
    if (userId !== undefined) void removeDraft(userId, name)
  }, [userId])
  return { draft, change, discard, attempt }
}
