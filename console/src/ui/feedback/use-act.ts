import { useCallback, useRef, useState } from 'react'
import { reasonOf } from '../../lib/reason.ts'

/**
 * State of a button's action: whether it runs, and why the last run failed. Forms have `useForm`.
 */
export function useAct() {
  const [busy, setBusy] = useState(false)
  /** A sentence for users, or null. */
  const [problem, setProblem] = useState<string | null>(null)
  // A second click may arrive before the change of the first click is rendered.
  const going = useRef(false)
  /**
   * Runs the action unless it is running already. An error becomes `problem`. Resolves to true on
   * success.
   */
  const act = useCallback(async (what: () => unknown): Promise<boolean> => {
    if (going.current) return false
    going.current = true
    setBusy(true)
    setProblem(null)
    try {
      await what()
      return true
    } catch (error) {
      setProblem(reasonOf(error))
      return false
    } finally {
      going.current = false
      setBusy(false)
    }
  }, [])
  return { busy, problem, act }
}
