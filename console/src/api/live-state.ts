import { createStore } from '../lib/store.ts'

/**
 * `live`: events and heartbeats arrive. `polling`: events don't arrive, but the server responds, so
 * the page refetches periodically. `silent`: the server does not respond; `since` is the time of
 * its last sign of life. Times are ISO 8601.
 */
export interface LiveState {
  state: 'connecting' | 'live' | 'polling' | 'silent'
  since: string | null
  lastEventAt: string | null
}
const unknown: LiveState = { state: 'connecting', since: null, lastEventAt: null }
export const liveState = createStore<LiveState>(unknown)

/**
 * Sets the state. `sinceMs`: when it began, in ms since 1970; ignored if the state is the same as
 * before.
 */
export function sayLive(state: LiveState['state'], sinceMs = Date.now()): void {
  liveState.set((now) =>
    now.state === state ? now : { ...now, state, since: new Date(sinceMs).toISOString() },
  )
}

export const forgetLive = (): void => liveState.set(unknown)
