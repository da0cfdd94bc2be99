import { pause } from '../lib/pause.ts'
import { createStore } from '../lib/store.ts'
import { CallError, isUndecided, noAnswer } from './http.ts'

/** How long a refresh or a session validation that gets no decision (no answer, 5xx, 429) is tried, in ms: product definition §1, Patience. */
const patienceMs = 30_000
/** One attempt of it, in ms. */
const attemptMs = 8_000
/** An attempt that takes longer is said to be one, in ms. */
const slowMs = 3_000

/** What is left of the 30 s, shared by the calls of one decision: a refresh and the validation after it. */
export interface Budget {
  leftMs: number
}
export const patience = (): Budget => ({ leftMs: patienceMs })

/** The session waits for a decision: until when (ms since 1970), and why there is none yet. Null where nothing is waited for. */
export interface Undecided {
  until: number
  reason: string
}
export const undecided = createStore<Undecided | null>(null)
let waiting = 0

const say = (budget: Budget, reason: string) => undecided.set({ until: Date.now() + budget.leftMs, reason })

/**
 * Tries until there is a decision or the budget is used up, and throws what the last attempt threw. `attempt` is told how long it may take, in ms.
 * Time during which the machine slept isn't counted: its network is not back in the first second.
 */
export async function patiently<T>(budget: Budget, attempt: (limitMs: number) => Promise<T>): Promise<T> {
  const slow = setTimeout(() => say(budget, noAnswer), slowMs)
  waiting++
  try {
    for (let tries = 0; ; tries++) {
      const limitMs = Math.min(attemptMs, budget.leftMs)
      const begun = Date.now()
      try {
        return await attempt(limitMs)
      } catch (error) {
        budget.leftMs -= Math.max(0, Math.min(Date.now() - begun, limitMs))
        const waitMs = Math.min(budget.leftMs, wantedPauseMs(error, tries))
        if (!isUndecided(error) || budget.leftMs - waitMs <= 0) throw error
        say(budget, error.message)
        await pause(waitMs)
        budget.leftMs -= waitMs
      }
    }
  } finally {
    clearTimeout(slow)
    waiting--
    if (waiting === 0) undecided.set(null)
  }
}

/** 1, 2, 4, then every 4 s; longer where the answer says so. */
function wantedPauseMs(error: unknown, tries: number): number {
  const asked = error instanceof CallError ? (error.retryAfterSeconds ?? 0) * 1000 : 0
  return Math.max(asked, Math.min(4_000, 1_000 * 2 ** tries))
}
