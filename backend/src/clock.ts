/** Time as the program sees it. Passed in everywhere, so that a test can hold it; only `systemClock` reads the machine's. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number
  /** Resolves after `ms`; rejects with the signal's reason as soon as it is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason as Error)
      const timer = setTimeout(() => {
        signal?.removeEventListener('abort', stop)
        resolve()
      }, ms)
      const stop = () => {
        clearTimeout(timer)
        reject(signal!.reason as Error)
      }
      signal?.addEventListener('abort', stop, { once: true })
    }),
}

/** A clock that a test moves. Sleepers wake when it is moved past their time. */
export interface TestClock extends Clock {
  /** Moves time on and wakes who waited for it. */
  advance(ms: number): void
}

export function testClock(start = Date.UTC(2026, 0, 15, 12)): TestClock {
  let now = start
  const sleepers = new Set<{ at: number; wake: () => void }>()
  return {
    now: () => now,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason as Error)
        const sleeper = {
          at: now + ms,
          wake: () => {
            sleepers.delete(sleeper)
            resolve()
          },
        }
        sleepers.add(sleeper)
        signal?.addEventListener(
          'abort',
          () => {
            sleepers.delete(sleeper)
            reject(signal.reason as Error)
          },
          { once: true },
        )
      }),
    advance(ms) {
      now += ms
      for (const sleeper of [...sleepers].toSorted((a, b) => a.at - b.at)) if (sleeper.at <= now) sleeper.wake()
    },
  }
}
