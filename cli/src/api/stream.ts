/**
 * The stream of events (https://html.spec.whatwg.org/multipage/server-sent-events.html), read only
 * to learn that something has changed.
 */
import { eventStream, heartbeatMs } from '#contract/events.ts'
import type { Transport } from './transport.ts'

/**
 * A stream without a heartbeat for this long has lost its connection, although TCP may not notice.
 */
const silentMs = 5 * heartbeatMs

/** Opens the stream. Throws what the transport throws. */
export const openStream = (
  fetch: Transport,
  url: string,
  token: string,
  signal: AbortSignal,
): Promise<Response> =>
  fetch(url, {
    signal,
    headers: { accept: eventStream.media, authorization: `Bearer ${token}` },
  })

/**
 * Calls `onEvent` for each event, until the stream ends or is silent. An event is a group of lines
 * with data; heartbeats are comments.
 */
export async function readEvents(
  body: ReadableStream<Uint8Array>,
  onEvent: () => void,
): Promise<void> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  /**
   * Beginning of the current line. Only its first characters matter, so a line of any length takes
   * no more memory.
   */
  let line = ''
  let timer: NodeJS.Timeout | undefined
  try {
    for (;;) {
      timer = setTimeout(() => void reader.cancel().catch(() => undefined), silentMs)
      const { done, value } = await reader.read()
      clearTimeout(timer)
      if (done) return
      const [first = '', ...others] = decoder.decode(value, { stream: true }).split('\n')
      line = (line + first).slice(0, 8)
      for (const next of others) {
        if (line.startsWith('data:')) onEvent()
        line = next.slice(0, 8)
      }
    }
  } finally {
    clearTimeout(timer)
    await reader.cancel().catch(() => undefined)
  }
}
