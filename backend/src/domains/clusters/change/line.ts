/**
 * The line of plans. A plan asks every machine of a cluster and reads what it answers, so many at
 * once, such as those of changes that wait for the same maintenance window, would slow each other
 * until none of them ends in time.
 */
import { Problem } from '#contract/errors.ts'
import { shares } from '../../../http/load/shares.ts'

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
 * Lets so many plans run at once, in the order in which they were asked for.
 * @param waitMs how long a plan waits for its turn
 */
export function planLine(atOnce: number, waitMs: number) {
  const places = shares(atOnce)
  /** @throws TooManyPlans */
  return async <T>(signal: AbortSignal, plan: () => Promise<T>): Promise<T> => {
    signal.throwIfAborted()
    const taken = await places.take([], waitMs, signal)
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
