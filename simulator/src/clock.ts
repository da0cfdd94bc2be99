/** A sleep that was interrupted, for instance because the machine lost power. */
export class Interrupted extends Error {
  override name = 'Interrupted'
}

export const MIN_SPEED = 0.01
export const MAX_SPEED = 10_000

export type Clock = ReturnType<typeof createClock>

/**
 * Simulated time. Durations (boot, install, reboot) pass `speed` times faster than wall-clock time.
 * Instants (certificates, events, logs) are real, because clients compare them with their own
 * clock. `wall` is injected so that tests can stop the wall clock.
 */
export const createClock = (initialSpeed = 1, wall: () => number = Date.now) => {
  let speed = initialSpeed
  let anchorReal = performance.now()
  let anchorSimulated = 0
  const rearm = new Set<() => void>()
  const elapsed = (): number => anchorSimulated + (performance.now() - anchorReal) * speed

  return {
    /** Wall-clock time in milliseconds since 1970. */
    now: wall,
    /** Simulated milliseconds since the simulator started. */
    elapsed,
    get speed() {
      return speed
    },
    /** Changes the speed immediately, also for sleeps in progress. */
    setSpeed(next: number): void {
      if (!(next >= MIN_SPEED && next <= MAX_SPEED))
        throw new RangeError(`Speed must be between ${MIN_SPEED} and ${MAX_SPEED}`)
      anchorSimulated = elapsed()
      anchorReal = performance.now()
      speed = next
      for (const again of rearm) again()
    },
    /** Sleeps simulated milliseconds; rejects with `Interrupted` when the signal aborts. */
    sleep(ms: number, signal?: AbortSignal): Promise<void> {
      return new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(new Interrupted())
        const due = elapsed() + ms
        let timer: NodeJS.Timeout | undefined
        const end = (finish: () => void): void => {
          clearTimeout(timer)
          rearm.delete(arm)
          signal?.removeEventListener('abort', onAbort)
          finish()
        }
        const onAbort = (): void => end(() => reject(new Interrupted()))
        const arm = (): void => {
          clearTimeout(timer)
          timer = setTimeout(() => end(resolve), Math.max(0, (due - elapsed()) / speed))
        }
        rearm.add(arm)
        signal?.addEventListener('abort', onAbort, { once: true })
        arm()
      })
    },
  }
}
