/**
 * Time limits of this program. Like `AbortSignal.timeout`, but the reason says how long was waited,
 * so that a sentence names the limit and not an aborted call.
 */
import { OutOfTime } from '#contract/connections/causes.ts'

/** A signal that aborts with OutOfTime after `ms`. It doesn't keep the process running. */
export function timeLimit(ms: number): AbortSignal {
  const end = new AbortController()
  setTimeout(() => end.abort(new OutOfTime(ms)), ms).unref()
  return end.signal
}
