/**
 * Counts by key of the last one to two periods, for a bounded number of keys. The older half is
 * dropped as a whole, as in `bucket` (`http/limits.ts`).
 */
import { performance } from 'node:perf_hooks'

/** @param limits `most`: keys in each half. `ms`: length of a period. */
export function recent({ most, ms }: { most: number; ms: number }) {
  let late = new Map<string, number>()
  let earlier = new Map<string, number>()
  let since = performance.now()
  const turn = (): void => {
    if (late.size < most && performance.now() - since < ms) return
    earlier = late
    late = new Map()
    since = performance.now()
  }
  return {
    count(key: string): number {
      turn()
      return (late.get(key) ?? 0) + (earlier.get(key) ?? 0)
    },
    add(key: string): void {
      turn()
      late.set(key, (late.get(key) ?? 0) + 1)
    },
    remove(key: string): void {
      late.delete(key)
      earlier.delete(key)
    },
  }
}
