import type { CallOptions } from './calls.ts'
import type { TalosClient } from './client.ts'
import type { TalosEvent } from './events.ts'

/** The event stream never ends. Past events arrive at once, so this time without one, in ms, marks their end. */
const quietMs = 300
/** For all of them. */
const withinMs = 1_500

/** The last `most` past events, oldest first; from a slow machine those that arrive in time. Throws TalosError. */
export async function pastEvents(client: TalosClient, most: number, options: CallOptions = {}): Promise<TalosEvent[]> {
  const found: TalosEvent[] = []
  const over = new AbortController()
  const stop = AbortSignal.any([over.signal, AbortSignal.timeout(withinMs)])
  let quiet: NodeJS.Timeout | undefined
  try {
    const signal = options.signal === undefined ? stop : AbortSignal.any([stop, options.signal])
    for await (const event of client.events({ tail: most }, { ...options, signal })) {
      clearTimeout(quiet)
      quiet = setTimeout(() => over.abort(), quietMs)
      found.push(event)
      if (found.length >= most) break
    }
  } catch (error) {
    if (!stop.aborted) throw error
  } finally {
    clearTimeout(quiet)
  }
  return found
}
