import { useEffect, useMemo, useRef, useState } from 'react'
import type * as z from 'zod/mini'
import type { Form } from '../ui/form/use-form.ts'
import { keepAfterMs, readDraft, removeDraft, writeDraft } from './drafts.ts'
import { useUser } from './session.ts'

/** Keeps `value` under `name` once it has stood for a moment, and at once where its form goes away before that, such as with the session. Undefined: nothing is to be kept, and what was is forgotten. */
function useKeep(name: string, value: object | undefined): void {
  const userId = useUser()?.id
  const waiting = useRef<(() => void) | null>(null)
  const had = useRef(false)
  useEffect(() => {
    // Nobody is signed in any more: what waits is kept when the form goes away.
    if (userId === undefined) return undefined
    waiting.current = null
    if (value === undefined) {
      // Undone, saved or discarded.
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
 * Keeps a form's values in this browser while they differ from its initial ones, and puts back what was kept. `shape` is what a kept value has to be:
 * an older page may have kept another. `version` is that of what is edited, as it was read.
 */
export function useDraft<Values extends object>(form: Form<Values>, name: string, shape: z.core.$ZodType<Values>, version: number | null = null) {
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
      // Whoever began to type before it was found goes on with what is typed.
      if (found !== undefined && read.issues === undefined && !latest.current.dirty) {
        latest.current.restore(read.value)
        setRestored({ savedAt: found.savedAt, older: ((found.value as { base?: number | null }).base ?? null) !== version })
      }
      setReady(true)
    }
    void putBack()
  }, [userId, name, shape, version])
  const { dirty, values } = form
  useKeep(
    name,
    useMemo(() => (dirty && !settled ? { ...values, base: version } : undefined), [values, dirty, settled, version]),
  )
  const forget = async () => {
    if (userId !== undefined) await removeDraft(userId, name)
  }
  return {
    /** Whether a kept draft was looked for: until then the form may still change by itself. */
    ready,
    /** When the draft was kept that was put back, and whether what it is of has changed since; null where nothing of it is on the form. */
    restored: dirty ? restored : null,
    /** Back to the initial values; nothing is kept. */
    discard: () => {
      form.reset()
      setRestored(null)
      void forget()
    },
    /** It was saved: nothing is kept any more, and the page may be left. */
    settle: async () => {
      setSettled(true)
      await forget()
    },
  }
}
export type KeptDraft = ReturnType<typeof useDraft>
