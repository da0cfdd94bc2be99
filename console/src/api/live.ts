import type { QueryClient } from '@tanstack/react-query'
import { type EventKind, eventStream, heartbeatMs } from '#contract/events.ts'
import { pause } from '../lib/pause.ts'
import { isApiElsewhere } from '../lib/api-origin.ts'
import { dropEarly } from '../lib/early.ts'
import { eventReader } from '../lib/sse.ts'
import { SessionReplaced } from './access.ts'
import { storedUserId } from './auth.ts'
import { authorized } from './client.ts'
import { CallError, noAnswer, send } from './http.ts'
import { gathering } from './gather.ts'
import { refetchAll, refetchFailed } from './query.ts'
import { applyContacts, changes, type LiveMessage } from './live-cache.ts'
import { forgetLive, liveState, sayLive } from './live-state.ts'
import { probeLimitMs, watchdog } from './watchdog.ts'

const pollEveryMs = 15_000
/** A stream without any message or heartbeat for this long, in ms, counts as dead. */
const silenceMs = heartbeatMs * 2.5
/** Longest pause between attempts to reopen the stream, in ms. */
const mostPauseMs = 4_000

/**
 * Id of the server's newest event when it sent this page. All data that the page fetches includes
 * this event. Null in development, and if the API has another origin.
 */
const eventOfPage = isApiElsewhere
  ? null
  : (/^\d+$/.exec(
      document.querySelector<HTMLMetaElement>('meta[name="last-event"]')?.content ?? '',
    )?.[0] ?? null)

/**
 * Message between tabs. `heard`: the server gave a sign of life. `reopened`: the stream is open
 * again after it could not be opened. `ask`: a new tab asks whether the stream is live; `from` is
 * the tab's `eventOfPage`. `past` in the answer: `from`, if newer events have arrived since. The
 * data that the new tab has fetched may then be out of date.
 */
type Passed =
  | { type: 'message'; message: LiveMessage }
  | { type: 'heard'; past?: string }
  | { type: 'reopened' }
  | { type: 'ask'; from: string | null }

/**
 * Rejects if the server does not respond. An error response of a proxy does not count as the
 * server's response.
 */
async function probe(): Promise<void> {
  const { status } = await send({ method: 'GET', path: '/healthz' }, {}, { limitMs: probeLimitMs })
  if (status >= 500) throw new CallError(noAnswer, { status })
}

/**
 * Keeps the cache up to date. The tab that holds a Web Lock reads the stream and passes the
 * messages to the other tabs of the same user by BroadcastChannel. Returns a function that stops
 * the updates.
 */
export function followEvents(client: QueryClient): () => void {
  const stopped = new AbortController()
  // A tab that has yet to notice the end of its session must not pass the messages of its user to
  // the next one.
  const name = `steelyard.live.${storedUserId() ?? ''}`
  const channel = typeof BroadcastChannel === 'undefined' ? null : new BroadcastChannel(name)
  // A BroadcastChannel has no target origin: its messages never leave our origin.
  // oxlint-disable-next-line unicorn/require-post-message-target-origin
  const pass = (passed: Passed) => channel?.postMessage(passed)
  let lastId = eventOfPage
  let leading = false
  const gathered = gathering((changed) =>
    changed === null
      ? refetchAll(client)
      : client.invalidateQueries({ predicate: (query) => changes(query.queryKey, changed) }),
  )
  const take = (message: LiveMessage) => {
    lastId = message.id ?? lastId
    dropEarly()
    liveState.set((now) => ({ ...now, lastEventAt: new Date().toISOString() }))
    if (message.event === 'resync') return gathered.changed()
    if (message.event === 'server.contacted') return applyContacts(client, message.data)
    const [kind] = message.event.split('.') as [EventKind]
    const id = (message.data as { object?: { id?: string } }).object?.id
    return gathered.changed(kind, id)
  }

  const watch = watchdog({
    probe,
    onSilent: (since) => sayLive('silent', since),
    onQuiet: () => sayLive('polling'),
  })
  const heard = () => {
    watch.heard()
    sayLive('live')
  }
  channel?.addEventListener('message', ({ data }: MessageEvent<Passed>) => {
    if (data.type === 'ask') {
      const { from } = data
      if (leading && liveState.get().state === 'live')
        pass({
          type: 'heard',
          ...(from !== null && Number(lastId) > Number(from) && { past: from }),
        })
      return undefined
    }
    heard()
    if (data.type === 'message') take(data.message)
    else if (data.type === 'reopened') void refetchFailed(client)
    else if (data.past !== undefined && data.past === eventOfPage)
      void client.invalidateQueries({ predicate: (query) => query.state.dataUpdatedAt > 0 })
    return undefined
  })
  pass({ type: 'ask', from: eventOfPage })

  const poll = setInterval(() => {
    if (liveState.get().state === 'polling' && !document.hidden) void refetchAll(client)
  }, pollEveryMs)

  const lead = async () => {
    leading = true
    let misses = 0
    while (!stopped.signal.aborted) {
      const begun = Date.now()
      try {
        await readStream(stopped.signal, lastId, {
          onOpen: () => {
            // Queries that failed while the server was silent: no event would cause a retry. If
            // the first attempt succeeds, the server was not silent, and has decided.
            if (misses > 0) {
              void refetchFailed(client)
              pass({ type: 'reopened' })
            }
            misses = 0
            // Data fetched before the stream opened may be out of date, so it is fetched again.
            // Nearly always it hasn't changed, and the response is a 304.
            if (lastId === null)
              void client.invalidateQueries({ predicate: (query) => query.state.dataUpdatedAt > 0 })
          },
          onHeard: () => {
            heard()
            pass({ type: 'heard' })
          },
          onMessage: (message) => {
            take(message)
            pass({ type: 'message', message })
          },
        })
        // Reopen at once after a stream of more than 5 s: the stream ends normally when its access
        // token expires.
        if (Date.now() - begun > 5_000) continue
      } catch {
        if (stopped.signal.aborted) return
      }
      misses++
      void watch.look()
      await pause(
        Math.min(mostPauseMs, 500 * 2 ** misses) * (0.75 + Math.random() / 2),
        stopped.signal,
      )
    }
  }
  const locks = (navigator as Partial<Navigator>).locks
  void (locks === undefined
    ? lead()
    : locks.request(name, { signal: stopped.signal }, lead).catch(() => undefined))

  return () => {
    stopped.abort()
    clearInterval(poll)
    gathered.stop()
    watch.stop()
    channel?.close()
    forgetLive()
  }
}

async function readStream(
  signal: AbortSignal,
  lastId: string | null,
  on: { onOpen: () => void; onHeard: () => void; onMessage: (message: LiveMessage) => void },
): Promise<void> {
  const silent = new AbortController()
  const both = AbortSignal.any([signal, silent.signal])
  let late = setTimeout(() => silent.abort(), silenceMs)
  try {
    const userId = storedUserId()
    const response = await authorized(
      eventStream,
      {},
      {
        signal: both,
        headers: {
          accept: 'text/event-stream',
          ...(lastId !== null && { 'last-event-id': lastId }),
        },
      },
    )
    if (!response.ok || response.body === null)
      throw new Error(`The event stream answered ${response.status}`)
    on.onHeard()
    on.onOpen()
    const reader = eventReader(({ id, event, data }) => {
      try {
        on.onMessage({ id, event, data: JSON.parse(data) as unknown })
      } catch {
        // Ignore an unreadable message instead of ending the stream. The object's next change
        // causes another message.
      }
    })
    const decoder = new TextDecoder()
    const chunks = response.body.getReader()
    for (;;) {
      const { done, value } = await chunks.read()
      if (done) return
      if (storedUserId() !== userId) throw new SessionReplaced()
      clearTimeout(late)
      late = setTimeout(() => silent.abort(), silenceMs)
      on.onHeard()
      reader(decoder.decode(value, { stream: true }))
    }
  } finally {
    clearTimeout(late)
  }
}
