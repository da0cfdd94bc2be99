/**
 * Remembers which sources came back: a source that waited for a refusal at an account and tries
 * this account again isn't one of the fresh addresses of an attack. Kept in memory only: it decides
 * who waits less (`turns.ts`), not who may try (`throttle.ts`).
 */
import { recent } from './recent.ts'
import { freeFailures } from './throttle.ts'
import type { Lane } from './turns.ts'

/** Refusals are answered at a limited pace (`slow-answers.ts`), so this many take some minutes. */
const limits = { most: 20_000, ms: 15 * 60_000 }

export function standings() {
  const mistakes = recent(limits)
  const answered = recent(limits)
  const pair = (source: string, account: string): string => `${source} ${account}`
  return {
    laneOf(source: string, account: string, isKnown: boolean): Lane {
      if (mistakes.count(pair(source, account)) >= freeFailures) return 'slowed'
      if (isKnown) return 'known'
      return answered.count(pair(source, account)) > 0 ? 'returning' : 'stranger'
    },
    /** After a wrong password. */
    mistaken: (source: string, account: string): void => mistakes.add(pair(source, account)),
    /** After a refusal, if its client has waited for it. */
    answered: (source: string, account: string): void => answered.add(pair(source, account)),
    /** After a right password. */
    forget: (source: string, account: string): void => mistakes.remove(pair(source, account)),
  }
}
