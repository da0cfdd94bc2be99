import type { CallOptions } from './calls.ts'
import type { TalosClient } from './client.ts'
import type { TalosEvent } from './events.ts'

/** The stream of events never ends by itself: what is there comes at once, and after this long without another that was all. */
const quietMs = 300
/** For all of them. */
const withinMs = 1_500

/** The last `most` events that the machine remembers, oldest first; where it is slow, those that came in time. Throws TalosError. */
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
