/** The requests to this process. Background work that can wait gives way to them. */
import type { Clock } from './clock.ts'

/** Requests that programs send all the time, and that nobody waits for. */
const probes: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics'])

export type Traffic = ReturnType<typeof traffic>

export function traffic({ monotonic }: Pick<Clock, 'monotonic'>) {
  let lastAt = -Infinity
  return {
    note: (url: string): void => {
      if (!probes.has(url)) lastAt = monotonic()
    },
    /** Time since the last request, in ms; infinite before the first one. */
    quietMs: (): number => monotonic() - lastAt,
  }
}
