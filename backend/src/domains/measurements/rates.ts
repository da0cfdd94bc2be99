/** Turns counters into values per minute. */
import { minuteMs, type ServerSeries } from '#contract/measurements/measurements.ts'
import type { Usage } from '#talos/client/usage.ts'

export type Figures = readonly (number | null)[]

/** How much of a server is in use; null where nothing could be measured. */
export type Used = Readonly<Record<Exclude<ServerSeries, 'answered'>, number | null>>

interface Noted {
  readonly at: number
  readonly usage: Usage
}

/** Counters that are further apart say nothing of a minute. */
const mostApartMs = 5 * minuteMs

/**
 * The values between two readings, without those of contacts. Values of counters are null for
 * the first reading, after a restart, after a gap, and if a counter went back.
 */
export function figuresBetween(before: Noted | undefined, { at, usage }: Noted): Used {
  const isComparable =
    before !== undefined &&
    before.usage.bootedAt === usage.bootedAt &&
    at > before.at &&
    at - before.at <= mostApartMs
  const grown = (of: (usage: Usage) => number): number | null => {
    const by = isComparable ? of(usage) - of(before.usage) : -1
    return by < 0 ? null : by
  }
  const perSecond = (of: (usage: Usage) => number): number | null => {
    const by = grown(of)
    return by === null ? null : (by * 1000) / (at - before!.at)
  }
  const total = grown((u) => u.cpuSeconds)
  const idle = grown((u) => u.cpuIdleSeconds)
  return {
    cpu:
      total === null || idle === null || total === 0
        ? null
        : Math.min(1, Math.max(0, (total - idle) / total)),
    memory: usage.memoryTotalBytes > 0 ? usage.memoryUsedBytes / usage.memoryTotalBytes : null,
    disk_read: perSecond((u) => u.readBytes),
    disk_written: perSecond((u) => u.writtenBytes),
    received: perSecond((u) => u.receivedBytes),
    sent: perSecond((u) => u.sentBytes),
  }
}
