/**
 * The line of plans. A plan asks every machine of a cluster and reads what it answers, so many at
 * once, such as those of changes that wait for the same maintenance window, would slow each other
 * until none of them ends in time.
 */
import { Problem } from '#contract/errors.ts'
import { shares, waitingPerPlace } from '../../http/load/shares.ts'

/** Thrown if a plan has waited too long for its turn: nothing is known of the cluster yet. */
export class TooManyPlans extends Problem {
  constructor() {
    super(
      'unavailable',
      'Many changes of clusters are being planned at the moment. Please try again.',
      undefined,
      5,
    )
  }
}

/**
 * Lets so many plans run at once, in the order in which they were asked for. The plans of one user
 * take two thirds of the places, and half of the line: there is always room for another user.
 * @param waitMs how long a plan waits for its turn
 */
export function planLine(atOnce: number, waitMs: number) {
  const places = shares(atOnce)
  const most = Math.ceil((atOnce * 2) / 3)
  const mostWaiting = Math.ceil((atOnce * waitingPerPlace) / 2)
  /**
   * @param user id of the user who asks; undefined for Steelyard itself
   * @throws TooManyPlans
   */
  return async <T>(signal: AbortSignal, plan: () => Promise<T>, user?: string): Promise<T> => {
    signal.throwIfAborted()
    const own = user === undefined ? [] : [{ key: user, most, mostWaiting }]
    const taken = await places.take(own, waitMs, signal)
    if (taken === 'full' || taken === 'own') {
      signal.throwIfAborted()
      throw new TooManyPlans()
    }
    try {
      signal.throwIfAborted()
      return await plan()
    } finally {
      taken.give()
    }
  }
}
