import { useCallback, useRef, useState } from 'react'
import { reasonOf } from '../../lib/reason.ts'

/** What a press does: whether it is under way, and why it failed the last time. */
export interface Act {
  busy: boolean
  /** A sentence for people; null while nothing has failed. */
  problem: string | null
  setProblem: (problem: string | null) => void
  /**
   * Does it, unless the last press is still under way. A failure becomes `problem`; `refused` may take it first, such as to say it at the fields
   * that it is about, and answers whether it did. True once it was done.
   */
  act: (what: () => unknown, refused?: (error: unknown) => boolean) => Promise<boolean>
}

export function useAct(): Act {
  const [busy, setBusy] = useState(false)
  const [problem, setProblem] = useState<string | null>(null)
  // A second press comes before what the first one changed is drawn.
  const going = useRef(false)
  const act = useCallback<Act['act']>(async (what, refused) => {
    if (going.current) return false
    going.current = true
    setBusy(true)
    setProblem(null)
    try {
      await what()
      return true
    } catch (error) {
      if (!refused?.(error)) setProblem(reasonOf(error))
      return false
    } finally {
      going.current = false
      setBusy(false)
    }
  }, [])
  return { busy, problem, setProblem, act }
}
