import { pause } from '../lib/pause.ts'
import { createStore } from '../lib/store.ts'
import { CallError, isUndecided, noAnswer } from './http.ts'

/**
 * How long, in ms, a token refresh or session validation is retried if the server makes no decision
 * (no response, 5xx, 429).
 */
const patienceMs = 30_000
/** Time limit of one attempt, in ms. */
const attemptMs = 8_000
/** After an attempt has taken this long, in ms, the page shows that it is waiting. */
const slowMs = 3_000

/**
 * Time budget for retries; `leftMs` is the rest of the 30 s. A refresh and the validation after the
 * refresh share one budget.
 */
export const patience = () => ({ leftMs: patienceMs })
export type Budget = ReturnType<typeof patience>

/**
 * Set while the session waits for the server's decision: until when (ms since 1970), and why there
 * is no decision yet.
 */
export const undecided = createStore<{ until: number; reason: string } | null>(null)
let waiting = 0

const say = (budget: Budget, reason: string) =>
  undecided.set({ until: Date.now() + budget.leftMs, reason })

/**
 * Retries until there is a decision or the budget is used up, then throws the last error. `attempt`
 * receives its time limit in ms. Time in which the user's computer slept isn't counted, because its
 * network takes a moment to come back.
 */
export async function patiently<T>(
  budget: Budget,
  attempt: (limitMs: number) => Promise<T>,
): Promise<T> {
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

/**
 * Pause before the next attempt: 1, 2, then always 4 s; longer if the response has a longer
 * Retry-After.
 */
function wantedPauseMs(error: unknown, tries: number): number {
  const asked = error instanceof CallError ? (error.retryAfterSeconds ?? 0) * 1000 : 0
  return Math.max(asked, Math.min(4_000, 1_000 * 2 ** tries))
}
