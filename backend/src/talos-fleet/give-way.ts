/**
 * Contacts with idle servers give way to requests, so that the processor works for those who wait
 * for an answer. With ten thousand servers on two cores, with the browser and the simulator beside,
 * the console's list then appears a tenth sooner.
 */
import type { Clock } from '../clock.ts'

/** After a request, its page may still be loading and send further requests. */
const pageMs = 1_000
/** How long the contacts wait at most, so that steady requests don't delay them for long. */
const mostMs = 10_000
/** How much of that time returns in each ms in which the contacts don't wait. */
const returned = 1 / 6

export interface GiveWay {
  readonly clock: Pick<Clock, 'monotonic'>
  /** Time since the last request, in ms. */
  readonly quietMs: () => number
  /** Factor for all times. */
  readonly pace: number
}

export function giveWay({ clock, quietMs, pace }: GiveWay) {
  let leftMs = mostMs * pace
  let lookedAt = clock.monotonic()
  let isWaiting = false
  let waitedMs = 0
  return {
    /** Whether contacts that can wait do so now. */
    waits: (): boolean => {
      const now = clock.monotonic()
      const passedMs = now - lookedAt
      lookedAt = now
      if (isWaiting) waitedMs += passedMs
      leftMs = isWaiting ? leftMs - passedMs : Math.min(mostMs * pace, leftMs + passedMs * returned)
      isWaiting = leftMs > 0 && quietMs() < pageMs * pace
      return isWaiting
    },
    /** How long the contacts have waited since the last call, in ms. */
    takeWaitedMs: (): number => {
      const taken = waitedMs
      waitedMs = 0
      return taken
    },
  }
}
