import type { QueryClient } from '@tanstack/react-query'
import { type EventKind, eventStream } from '#contract/events.ts'
import { createStore } from '../lib/store.ts'
import { eventReader } from '../lib/sse.ts'
import { authorized } from './client.ts'
import { applyContacts, changes, type LiveMessage } from './live-cache.ts'
import { endsSession } from './auth.ts'

/** `live`: events come in. `polling`: they don't, so what is shown is asked for again and again. Times are ISO 8601. */
export interface LiveState {
  state: 'connecting' | 'live' | 'polling'
  since: string | null
  lastEventAt: string | null
}
export const liveState = createStore<LiveState>({ state: 'connecting', since: null, lastEventAt: null })

const pollEveryMs = 15_000
/** A stream on which nothing came for so long, not even a comment, is dead. */
const silenceMs = 60_000
/** What was fetched this short before the stream stands is not asked for again: a page fetches and connects at the same time. */
const graceMs = 1_500
/** Changes that come together are fetched together. */
const gatherMs = 120

type Passed = { type: 'message'; message: LiveMessage } | { type: 'state'; state: LiveState['state'] } | { type: 'ask' }

function say(state: LiveState['state']): void {
  liveState.set((now) => (now.state === state ? now : { ...now, state, since: new Date().toISOString() }))
}

/**
 * Keeps the cache true while somebody looks. One tab of the browser, the one that holds a Web Lock, reads the stream and passes it on by BroadcastChannel.
 * Returns how to stop.
 */
export function followEvents(client: QueryClient): () => void {
  const stopped = new AbortController()
  const channel = typeof BroadcastChannel === 'undefined' ? null : new BroadcastChannel('steelyard.live')
  // A channel has no target origin: it stays in ours.
  // oxlint-disable-next-line unicorn/require-post-message-target-origin
  const pass = (passed: Passed) => channel?.postMessage(passed)
  let lastId: string | null = null
  let leading = false
  let gathered = new Map<EventKind, Set<string>>()
  let timer = 0

  const flush = () => {
    timer = 0
    const now = gathered
    gathered = new Map()
    void client.invalidateQueries({ predicate: (query) => changes(query.queryKey, now) })
  }
  const take = (message: LiveMessage) => {
    lastId = message.id ?? lastId
    liveState.set((now) => ({ ...now, lastEventAt: new Date().toISOString() }))
    if (message.event === 'resync') return void client.invalidateQueries()
    if (message.event === 'server.contacted') return applyContacts(client, message.data)
    const [kind] = message.event.split('.') as [EventKind]
    const id = (message.data as { object?: { id?: string } }).object?.id
    gathered.set(kind, (gathered.get(kind) ?? new Set()).add(id ?? '*'))
    timer ||= window.setTimeout(flush, gatherMs)
    return undefined
  }

  channel?.addEventListener('message', ({ data }: MessageEvent<Passed>) => {
    if (data.type === 'message') take(data.message)
    else if (data.type === 'state') say(data.state)
    else if (leading) pass({ type: 'state', state: liveState.get().state })
  })
  pass({ type: 'ask' })

  const poll = setInterval(() => {
    if (liveState.get().state === 'polling' && !document.hidden) void client.invalidateQueries()
  }, pollEveryMs)

  const lead = async () => {
    leading = true
    let misses = 0
    while (!stopped.signal.aborted) {
      const begun = Date.now()
      try {
        await readStream(stopped.signal, lastId, {
          onOpen: () => {
            misses = 0
            say('live')
            pass({ type: 'state', state: 'live' })
            // What could not be fetched while nothing answered is tried again: no event will tell of it.
            void client.invalidateQueries({ predicate: (query) => query.state.status === 'error' })
            // What was fetched well before the stream stood may have changed in between.
            if (lastId === null)
              void client.invalidateQueries({ predicate: (query) => query.state.dataUpdatedAt > 0 && query.state.dataUpdatedAt < begun - graceMs })
          },
          onMessage: (message) => {
            take(message)
            pass({ type: 'message', message })
          },
        })
        // It ends with its access token; the next one begins with a new token.
        if (Date.now() - begun > 5_000) continue
      } catch (error) {
        if (stopped.signal.aborted || endsSession(error)) return
      }
      misses++
      if (misses >= 2) {
        say('polling')
        pass({ type: 'state', state: 'polling' })
      }
      await pause(Math.min(15_000, 500 * 2 ** misses) * (0.75 + Math.random() / 2), stopped.signal)
    }
  }
  const locks = (navigator as Partial<Navigator>).locks
  void (locks === undefined ? lead() : locks.request('steelyard.live', { signal: stopped.signal }, lead).catch(() => undefined))

  return () => {
    stopped.abort()
    clearInterval(poll)
    clearTimeout(timer)
    channel?.close()
    liveState.set({ state: 'connecting', since: null, lastEventAt: null })
  }
}

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })

async function readStream(signal: AbortSignal, lastId: string | null, on: { onOpen: () => void; onMessage: (message: LiveMessage) => void }): Promise<void> {
  const silent = new AbortController()
  const both = AbortSignal.any([signal, silent.signal])
  let watch = setTimeout(() => silent.abort(), silenceMs)
  try {
    const response = await authorized(
      eventStream,
      {},
      { signal: both, headers: { accept: 'text/event-stream', ...(lastId !== null && { 'last-event-id': lastId }) } },
    )
    if (!response.ok || response.body === null) throw new Error(`The event stream answered ${response.status}`)
    on.onOpen()
    const reader = eventReader(({ id, event, data }) => {
      try {
        on.onMessage({ id, event, data: JSON.parse(data) as unknown })
      } catch {
        // One unreadable message must not end the stream; the next change of the object brings it again.
      }
    })
    const decoder = new TextDecoder()
    const chunks = response.body.getReader()
    for (;;) {
      const { done, value } = await chunks.read()
      if (done) return
      clearTimeout(watch)
      watch = setTimeout(() => silent.abort(), silenceMs)
      reader(decoder.decode(value, { stream: true }))
    }
  } finally {
    clearTimeout(watch)
  }
}
