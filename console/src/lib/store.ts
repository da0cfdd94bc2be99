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

/**
 * The value of a store, or the part that `select` takes from it. The component renders again only
 * when this part changes, so `select` must not make new objects.
 */
export function useStore<T>(store: Store<T>): T
export function useStore<T, Part>(store: Store<T>, select: (value: T) => Part): Part
export function useStore<T>(store: Store<T>, select?: (value: T) => unknown): unknown {
  return useSyncExternalStore(store.subscribe, () =>
    select === undefined ? store.get() : select(store.get()),
  )
}
