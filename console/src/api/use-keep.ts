import { useEffect, useRef } from 'react'
import { keepAfterMs, removeDraft, writeDraft } from './drafts.ts'
import { useUser } from './session.ts'

/** Keeps `value` under `name` once it has stood for a moment, and at once where its form goes away before that, such as with the session. Undefined: nothing is to be kept, and what was is forgotten. */
export function useKeep(name: string, value: object | undefined): void {
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
