/** Counts servers and compute units by what they are used for, once a minute. */
import { type CapacitySeries, minuteMs } from '#contract/measurements/measurements.ts'
import { isDatabaseAway } from '../../causes/causes.ts'
import type { Platform } from '../../platform.ts'
import { allServers, figuresOf } from './series.ts'
import * as store from './store.ts'
import { floor } from './times.ts'

/** What counts the servers. */
export interface Counted {
  readonly servers: {
    /** Numbers of servers and compute units by what they are used for. */
    readonly inUse: () => Promise<Readonly<Record<CapacitySeries, number | null>>>
  }
}

/** Of several processes that count in a minute, the first one's numbers stay. */
export function counting({
  db,
  clock,
  log,
  servers,
}: Pick<Platform, 'db' | 'clock' | 'log'> & Counted) {
  let shutdown = new AbortController()
  let running: Promise<void> | undefined

  const count = async (): Promise<void> => {
    const at = new Date(floor(clock.now(), minuteMs))
    const figures = figuresOf('capacity', await servers.inUse())
    await store.insertMinutes(db, [{ objectId: allServers, at, figures }])
  }
  const countAgain = async (): Promise<void> => {
    while (!shutdown.signal.aborted) {
      // A lost minute is a gap in a chart.
      await count().catch((error: unknown) =>
        log[isDatabaseAway(error) ? 'debug' : 'error']('measurements.counting_failed', { error }),
      )
      const untilNext = minuteMs - (clock.now() % minuteMs)
      await clock.sleep(untilNext, shutdown.signal).catch(() => undefined)
    }
  }
  return {
    start: async (): Promise<void> => {
      if (running !== undefined) return
      shutdown = new AbortController()
      running = countAgain()
    },
    stop: async (): Promise<void> => {
      shutdown.abort()
      await running
      running = undefined
    },
  }
}
