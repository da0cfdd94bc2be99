/**
 * The program's clock. It is injected everywhere, so that tests can control time; only
 * `systemClock` reads the machine's clock.
 */
import { setTimeout as sleep } from 'node:timers/promises'

export interface Clock {
  /** Milliseconds since 1970. */
  now(): number
  /** Milliseconds since the start of this process. Changes of the wall clock don't affect it. */
  monotonic(): number
  /** Time of the last clock jump, by this clock; 0 if there was none. */
  steadySince(): number
  /** Resolves after `ms`; rejects with the signal's reason as soon as it is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

/**
 * A larger difference between the wall clock and the monotonic one is a jump (somebody set the
 * clock, or the machine slept); a smaller one comes from synchronisation with time servers.
 */
const jumpMs = 60_000

let offsetMs = Date.now() - performance.now()
let steadySinceMs = 0

function wallNow(): number {
  const now = Date.now()
  const offset = now - performance.now()
  if (Math.abs(offset - offsetMs) > jumpMs) steadySinceMs = now
  offsetMs = offset
  return now
}

/** Before this time a clock is wrong for sure: a machine without a battery starts in 1970. */
const earliestMs = Date.UTC(2020, 0, 1)
/** A sentence if the clock is so wrong that certificates and sessions can't be valid. */
export const wrongClock = (now: number): string | undefined =>
  now < earliestMs
    ? `This machine's clock says ${new Date(now).toISOString()}. Set it first: certificates, sessions and backups depend on it. Nothing was started`
    : undefined

/**
 * Elapsed time in ms without clock jumps, so that a jump of a day doesn't expire anything. If
 * `since` is in the future, the clock was set back after `since` was stored: the time since that
 * jump then counts, or 0 if no jump is known.
 */
export function elapsedMs(
  { now, steadySince }: { readonly now: number; readonly steadySince: number },
  since: Date | number,
): number {
  const start = Number(since)
  if (start > now) return steadySince === 0 ? 0 : now - steadySince
  return now - Math.max(steadySince, start)
}

export const systemClock: Clock = {
  now: wallNow,
  monotonic: () => performance.now(),
  steadySince() {
    wallNow()
    return steadySinceMs
  },
  sleep: (ms, signal) =>
    sleep(ms, undefined, signal && { signal }).catch(() => {
      throw signal!.reason
    }),
}
