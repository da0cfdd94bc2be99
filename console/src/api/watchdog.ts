import { heartbeatMs } from '#contract/events.ts'

/** So long without a sign of life, in ms, and the server is asked whether it answers: one heartbeat is late by three quarters of its interval. */
const quietMs = heartbeatMs * 1.75
/** How long it has for that answer, in ms. */
export const probeLimitMs = 2_000
const tickMs = 1_000
/** While it stays quiet it is asked again after so long, in ms. */
const probeEveryMs = 3_000

export interface Watchdog {
  /** A sign of life came: an event or a heartbeat, read here or passed on by the tab that reads the stream. */
  heard: () => void
  /** The stream has broken: asks at once. */
  look: () => Promise<void>
  stop: () => void
}

/**
 * Judges whether the server answers. Heartbeats that stay away don't decide it alone: the tab that passes them on may be gone, or a proxy may hold the stream
 * back. `probe` rejects where the server does not answer; it keeps its own time limit. Each tab has a watchdog.
 */
export function watchdog({
  probe,
  onSilent,
  onQuiet,
}: {
  probe: () => Promise<unknown>
  /** `since`: the last sign of life, in ms since 1970. */
  onSilent: (since: number) => void
  /** It answers, but no stream reaches this tab. */
  onQuiet: () => void
}): Watchdog {
  let heardAt = Date.now()
  let probedAt = 0
  let probing = false
  let stopped = false
  const look = async () => {
    if (probing) return
    probing = true
    probedAt = Date.now()
    const answers = await probe().then(
      () => true,
      () => false,
    )
    probing = false
    // What was heard meanwhile, such as by a page that was busy, is newer than the question.
    if (stopped || heardAt > probedAt) return
    if (!answers) onSilent(heardAt)
    else if (Date.now() - heardAt >= quietMs) onQuiet()
  }
  const timer = setInterval(() => {
    const now = Date.now()
    if (now - heardAt >= quietMs && now - probedAt >= probeEveryMs) void look()
  }, tickMs)
  return {
    heard: () => {
      heardAt = Date.now()
    },
    look,
    stop: () => {
      stopped = true
      clearInterval(timer)
    },
  }
}
