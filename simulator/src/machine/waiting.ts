import { Interrupted } from '../clock.ts'
import type { Journal } from './journal.ts'

/**
 * Resolves when the condition is true. The condition is checked after every change of the machine.
 */
export const untilChange = async (
  journal: Journal,
  condition: () => boolean,
  signal: AbortSignal,
): Promise<void> => {
  if (signal.aborted) throw new Interrupted()
  if (condition()) return
  await new Promise<void>((resolve, reject) => {
    const stop = (): void => {
      unwatch()
      signal.removeEventListener('abort', onAbort)
    }
    const onAbort = (): void => {
      stop()
      reject(new Interrupted())
    }
    const unwatch = journal.watch(() => {
      if (!condition()) return
      stop()
      resolve()
    })
    signal.addEventListener('abort', onAbort, { once: true })
  })
}
