import { useSyncExternalStore } from 'react'

/** A value that components can subscribe to. */
export function createStore<T>(initial: T) {
  let value = initial
  const listeners = new Set<() => void>()
  return {
    get: (): T => value,
    set: (next: T | ((now: T) => T)) => {
      const then = typeof next === 'function' ? (next as (now: T) => T)(value) : next
      if (Object.is(then, value)) return
      value = then
      for (const listener of listeners) listener()
    },
    subscribe: (listener: () => void) => {
      listeners.add(listener)
      return (): void => void listeners.delete(listener)
    },
  }
}

export type Store<T> = ReturnType<typeof createStore<T>>

export const useStore = <T>(store: Store<T>): T => useSyncExternalStore(store.subscribe, store.get)
