import { useEffect, useMemo, useRef, useState } from 'react'
import type * as z from 'zod/mini'
import type { Form } from '../ui/form/use-form.ts'
import { readDraft, removeDraft } from './drafts.ts'
import { useUser } from './session.ts'
import { useKeep } from './use-keep.ts'

export interface KeptDraft {
  /** Whether a kept draft was looked for: until then the form may still change by itself. */
  ready: boolean
  /** When the draft was kept that was put back, and whether what it is of has changed since; null where nothing of it is on the form. */
  restored: { savedAt: number; older: boolean } | null
  /** Back to the initial values; nothing is kept. */
  discard: () => void
  /** It was saved: nothing is kept any more, and the page may be left. */
  settle: () => Promise<void>
}

/**
 * Keeps a form's values in this browser while they differ from its initial ones, and puts back what was kept. `shape` is what a kept value has to be:
 * an older page may have kept another. `version` is that of what is edited, as it was read.
 */
export function useDraft<Values extends object>(form: Form<Values>, name: string, shape: z.core.$ZodType<Values>, version: number | null = null): KeptDraft {
  const userId = useUser()?.id
  const [restored, setRestored] = useState<KeptDraft['restored']>(null)
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
    ready,
    restored: dirty ? restored : null,
    discard: () => {
      form.reset()
      setRestored(null)
      void forget()
    },
    settle: async () => {
      setSettled(true)
      await forget()
    },
  }
}
