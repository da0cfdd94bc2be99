import { heartbeatMs } from '#contract/events.ts'

/**
 * Time without a sign of life, in ms, after which the server is probed: the heartbeat is then late
 * by three quarters of its interval.
 */
const quietMs = heartbeatMs * 1.75
/** Time limit of a probe, in ms. */
export const probeLimitMs = 2_000
const tickMs = 1_000
/** Interval of further probes while there is no sign of life, in ms. */
const probeEveryMs = 3_000

interface WatchdogParts {
  probe: () => Promise<unknown>
  /** `since`: the last sign of life, in ms since 1970. */
  onSilent: (since: number) => void
  /** The server responds, but no stream reaches this tab. */
  onQuiet: () => void
}

/**
 * Decides whether the server responds. Heartbeats may be missing for other reasons: the tab that
 * passes heartbeats on may be closed, or a proxy may buffer the stream. `probe` rejects if the
 * server does not respond, and has its own time limit. Each tab has a watchdog.
 */
export function watchdog({ probe, onSilent, onQuiet }: WatchdogParts) {
  let heardAt = Date.now()
  let probedAt = 0
  let probing = false
  let stopped = false
  /** Probes at once. Called after the stream broke. */
  const look = async () => {
    if (probing) return
    probing = true
    probedAt = Date.now()
    const answers = await probe().then(
      () => true,
      () => false,
    )
    probing = false
    // Ignore the result if there was a sign of life after the start of the probe: the sign of life
    // is newer.
    if (stopped || heardAt > probedAt) return
    if (!answers) onSilent(heardAt)
    else if (Date.now() - heardAt >= quietMs) onQuiet()
  }
  const timer = setInterval(() => {
    const now = Date.now()
    if (now - heardAt >= quietMs && now - probedAt >= probeEveryMs) void look()
  }, tickMs)
  return {
    /**
     * Notes a sign of life: an event or a heartbeat, read here or passed on by the tab that reads
     * the stream.
     */
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
