import { createStore } from '../lib/store.ts'

/**
 * `live`: events come in, and between them a sign of life. `polling`: they don't, though the server answers, so what is shown is asked for again and again.
 * `silent`: the server does not answer; `since` is when it last gave a sign of life. Times are ISO 8601.
 */
export interface LiveState {
  state: 'connecting' | 'live' | 'polling' | 'silent'
  since: string | null
  lastEventAt: string | null
}
const unknown: LiveState = { state: 'connecting', since: null, lastEventAt: null }
export const liveState = createStore<LiveState>(unknown)

/** `sinceMs` in ms since 1970. */
export function sayLive(state: LiveState['state'], sinceMs = Date.now()): void {
  liveState.set((now) => (now.state === state ? now : { ...now, state, since: new Date(sinceMs).toISOString() }))
}

export const forgetLive = (): void => liveState.set(unknown)
