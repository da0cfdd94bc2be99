/**
 * Holds back refusals, so that clients which wait for the answer to one guess before they send the
 * next use only a share of the processor. Without a crowd nobody waits: a refusal is held back only
 * if those before it used up the share. The measured cost of each refused try decides, so the pace
 * follows the machine.
 */
import { performance } from 'node:perf_hooks'
import { crowded } from './crowded.ts'

export interface SlowAnswerLimits {
  /** The share of one place in the queue that refused tries may use in the long run. */
  readonly share: number
  /** Refusals that used up the share only for this time aren't held back, in ms. */
  readonly burstMs: number
  readonly longestMs: number
  /** Maximum number of refusals that are held back; past this limit one is answered at once. */
  readonly most: number
}

interface Held {
  readonly account: string
  readonly costMs: number
  readonly go: () => void
}

export function slowAnswers({ share, burstMs, longestMs, most }: SlowAnswerLimits) {
  const held = crowded<Held>()
  /** When the next refusal may be answered, by `performance.now`. */
  let nextAt = -Infinity
  let timer: NodeJS.Timeout | undefined

  const pay = (costMs: number): void => {
    const now = performance.now()
    nextAt = Math.min(Math.max(nextAt, now - burstMs) + costMs / share, now + longestMs)
  }
  const answer = (one: Held): void => {
    pay(one.costMs)
    one.go()
  }
  const schedule = (): void => {
    if (timer !== undefined || held.size === 0) return
    timer = setTimeout(
      () => {
        timer = undefined
        const one = held.take()
        if (one) answer(one)
        schedule()
      },
      Math.max(0, nextAt - performance.now()),
    )
  }
  return {
    /**
     * Resolves when a refusal may be answered. @param costMs how long its try held a place in the
     * queue
     * @param signal ends the wait, because the client has disconnected; then others don't wait for
     * this refusal
     */
    hold: (account: string, costMs: number, signal?: AbortSignal): Promise<void> =>
      new Promise((resolve) => {
        if (signal?.aborted) return resolve()
        if (held.size === 0 && nextAt <= performance.now()) {
          pay(costMs)
          return resolve()
        }
        const leave = () => {
          held.remove(one)
          one.go()
        }
        const one: Held = {
          account,
          costMs,
          go: () => {
            clearTimeout(late)
            signal?.removeEventListener('abort', leave)
            resolve()
          },
        }
        signal?.addEventListener('abort', leave, { once: true })
        const giveUp = () => {
          held.remove(one)
          answer(one)
        }
        const late = setTimeout(giveUp, longestMs)
        held.add(one)
        if (held.size > most) {
          const last = held.last()!
          held.remove(last)
          answer(last)
        }
        return schedule()
      }),
    /** Answers all refusals, because the program stops. */
    release(): void {
      for (let one = held.take(); one; one = held.take()) one.go()
    },
  }
}
