import { useEffect, useMemo, useRef, useState } from 'react'
import type * as z from 'zod/mini'
import type { Form } from '../ui/form/use-form.ts'
import { storedUserId } from './auth.ts'
import { keepAfterMs, readDraft, removeDraft, writeDraft } from './drafts.ts'
import { useUser } from './session.ts'

/**
 * Saves `value` as the draft `name` after a pause in typing, or at once if its form unmounts before
 * that, for instance because the session ended. If `value` is undefined, a saved draft is deleted.
 */
function useKeep(name: string, value: object | undefined): void {
  const userId = useUser()?.id
  const waiting = useRef<(() => void) | null>(null)
  const had = useRef(false)
  useEffect(() => {
    // The session has ended: don't save here. A pending value is saved when the form unmounts.
    if (userId === undefined) return undefined
    waiting.current = null
    if (value === undefined) {
      // The user has undone, saved or discarded the changes, so the draft is no longer needed.
      if (had.current) void removeDraft(userId, name)
      had.current = false
      return undefined
    }
    had.current = true
    const keep = () => {
      waiting.current = null
      void writeDraft(userId, name, value)
    }
    waiting.current = keep
    const timer = setTimeout(keep, keepAfterMs)
    return () => clearTimeout(timer)
  }, [userId, name, value])
  useEffect(() => () => waiting.current?.(), [])
}

/**
 * Stores a form's values as a draft in this browser while they differ from the form's initial
 * values, and restores a stored draft. `shape` validates the draft, because an older version of the
 * page may have written it. `version` is the version of the edited object when it was read.
 */
export function useDraft<Values extends object>(
  form: Form<Values>,
  name: string,
  shape: z.core.$ZodType<Values>,
  version: number | null = null,
) {
  const userId = useUser()?.id
  const [restored, setRestored] = useState<{ savedAt: number; older: boolean } | null>(null)
  const [ready, setReady] = useState(false)
  const [settled, setSettled] = useState(false)
  const latest = useRef(form)
  useEffect(() => {
    latest.current = form
  })
  const looked = useRef(false)
  useEffect(() => {
    if (userId === undefined || looked.current) return
    looked.current = true
    const putBack = async () => {
      const found = await readDraft(userId, name)
      const read = await shape['~standard'].validate(found?.value)
      // Another user has signed in: the draft isn't theirs.
      if (storedUserId() !== userId) return
      // If the user began to type before the draft was found, the typed values stay.
      if (found !== undefined && read.issues === undefined && !latest.current.dirty) {
        latest.current.restore(read.value)
        setRestored({
          savedAt: found.savedAt,
          older: ((found.value as { base?: number | null }).base ?? null) !== version,
        })
      }
      setReady(true)
    }
    void putBack()
  }, [userId, name, shape, version])
  const { dirty, values } = form
  useKeep(
    name,
    useMemo(
      () => (dirty && !settled ? { ...values, base: version } : undefined),
      [values, dirty, settled, version],
    ),
  )
  const forget = async () => {
    if (userId !== undefined) await removeDraft(userId, name)
  }
  return {
    /**
     * Whether the search for a draft has finished. Until then a restored draft may still change the
     * form.
     */
    ready,
    /**
     * When the restored draft was saved, and whether the edited object has changed since then. Null
     * if no restored draft is in the form.
     */
    restored: dirty ? restored : null,
    /** Resets the form to the initial values and deletes the draft. */
    discard: () => {
      form.reset()
      setRestored(null)
      void forget()
    },
    /** To be called after the form was saved: deletes the draft, and no further draft is stored. */
    settle: async () => {
      setSettled(true)
      await forget()
    },
  }
}
export type KeptDraft = ReturnType<typeof useDraft>
