/**
 * Asks the BMCs that are due: at most 32 at once, of which those that answered slowly or not at all
 * have 6 places, so that a hundred hanging ones slow no other down. A BMC is asked by one process at
 * a time, which holds a lease on it.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { isDatabaseAway } from '../../../causes/causes.ts'
import type { BmcWorld } from '../parts.ts'
import * as store from '../store.ts'
import type { Asking } from './asking.ts'

export const places = { all: 32, slow: 6 } as const
/** A lease ends after this, in ms, if its process was killed. */
const leaseMs = 5 * 60_000
/** How often the loop looks for BMCs that another process has made due, in ms. */
const lookMs = 1_000
/** How often while there is no BMC. */
const idleMs = 15_000

export interface Loop {
  readonly run: (signal: AbortSignal) => Promise<void>
  readonly wake: () => void
}

export function loop(
  { db, clock, owner, log }: Pick<BmcWorld, 'db' | 'clock' | 'owner' | 'log'>,
  { ask }: Asking,
): Loop {
  const running = { slow: 0, fast: 0 }
  let woken: () => void = () => undefined
  const claimed = async (isSlow: boolean, signal: AbortSignal): Promise<number> => {
    const free = isSlow
      ? Math.min(places.slow - running.slow, places.all - running.slow - running.fast)
      : places.all - places.slow - running.fast
    if (free <= 0) return 0
    const ids = await store.claim(db, {
      owner,
      now: new Date(clock.now()),
      until: new Date(clock.now() + leaseMs),
      most: free,
      slow: isSlow,
    })
    const lane = isSlow ? 'slow' : 'fast'
    for (const id of ids) {
      running[lane]++
      void ask(id, signal)
        .catch((error: unknown) => {
          if (!signal.aborted)
            log[isDatabaseAway(error) ? 'debug' : 'error']('bmc.ask_failed', { bmc_id: id, error })
        })
        .finally(() => {
          running[lane]--
          woken()
        })
    }
    return ids.length
  }
  return {
    wake: () => woken(),
    async run(signal) {
      while (!signal.aborted) {
        let pauseMs = lookMs
        try {
          const begun = (await claimed(false, signal)) + (await claimed(true, signal))
          if (begun === 0 && running.fast + running.slow === 0)
            pauseMs = (await store.nextDue(db)) === null ? idleMs : lookMs
        } catch (error) {
          if (!isDatabaseAway(error)) log.error('bmc.loop_failed', { error })
        }
        await Promise.race([
          wait(pauseMs, undefined, { signal }).catch(() => undefined),
          new Promise<void>((go) => (woken = go)),
        ])
      }
      while (running.fast + running.slow > 0) await new Promise<void>((go) => (woken = go))
    },
  }
}
