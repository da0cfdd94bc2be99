/** A clock that a test moves. */
export type TestClock = ReturnType<typeof testClock>

/** Calls of `sleep` resolve when the clock is advanced past their time. */
export function testClock(start = Date.UTC(2026, 0, 15, 12)) {
  let [passed, offset] = [0, start]
  const sleepers = new Set<{ at: number; wake: () => void }>()
  return {
    now: () => offset + passed,
    monotonic: () => passed,
    steadySince: () => 0,
    sleep: (ms: number, signal?: AbortSignal) =>
      new Promise<void>((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason as Error)
        const sleeper = {
          at: passed + ms,
          wake: () => {
            sleepers.delete(sleeper)
            signal?.removeEventListener('abort', abort)
            resolve()
          },
        }
        sleepers.add(sleeper)
        const abort = () => {
          sleepers.delete(sleeper)
          reject(signal?.reason as Error)
        }
        signal?.addEventListener('abort', abort, { once: true })
      }),
    /** Advances the time and resolves calls of `sleep` that are due. */
    advance(ms: number): void {
      passed += ms
      for (const sleeper of [...sleepers].toSorted((a, b) => a.at - b.at))
        if (sleeper.at <= passed) sleeper.wake()
    },
    /** Sets the wall clock ahead or back by `ms`. The monotonic clock doesn't change. */
    jump(ms: number): void {
      offset += ms
    },
  }
}
