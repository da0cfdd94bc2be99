import { useCallback, useEffect, useState } from 'react'
import { readDraft, removeDraft } from './drafts.ts'
import { newKey } from './http.ts'
import { useUser } from './session.ts'
import { useKeep } from './use-keep.ts'

export interface NewDraft<T> {
  /** Null until it has been looked for. */
  draft: T | null
  change: (patch: Partial<T> | ((now: T) => Partial<T>)) => void
  discard: () => Promise<void>
  /** Idempotency-Key of what is asked: the same while that stays the same. Not called `key`, which React takes for itself. */
  attempt: string
}

/**
 * What is being put together and stands nowhere yet, kept in this browser until it is made or discarded. `blank` and `read`, which makes of a kept value
 * what it is or null where it is none of ours, are the same from one drawing to the next.
 */
export function useNewDraft<T extends object>(name: string, blank: T, read: (value: unknown) => T | null): NewDraft<T> {
  const userId = useUser()?.id
  const [draft, setDraft] = useState<T | null>(null)
  const [attempt, setAttempt] = useState(newKey)
  useEffect(() => {
    let gone = false
    if (userId === undefined) return undefined
    void readDraft(userId, name).then((kept) => gone || setDraft((now) => now ?? (kept ? read(kept.value) : null) ?? blank))
    return () => {
      gone = true
    }
  }, [userId, name, blank, read])
  useKeep(name, draft === null || draft === blank ? undefined : draft)
  const change = useCallback<NewDraft<T>['change']>(
    (patch) => {
      setDraft((now) => ({ ...(now ?? blank), ...(typeof patch === 'function' ? patch(now ?? blank) : patch) }))
      setAttempt(newKey())
    },
    [blank],
  )
  const discard = useCallback(async () => {
    setDraft(blank)
    setAttempt(newKey())
    if (userId !== undefined) await removeDraft(userId, name)
  }, [userId, name, blank])
  return { draft, change, discard, attempt }
}
