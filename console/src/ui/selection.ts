import { useMemo, useState } from 'react'

/** Which rows are chosen, by key. */
export interface Selection {
  keys: ReadonlySet<string>
  size: number
  has: (key: string) => boolean
  /** With `range` (the keys in their order on the page) everything between the last one and this gets its new state: shift. */
  toggle: (key: string, range: readonly string[] | null) => void
  set: (keys: Iterable<string>) => void
  clear: () => void
}

/** What toggling `key` makes of the chosen `now`, from `last` if it is a range. */
export function toggled(now: ReadonlySet<string>, key: string, last: string | null, range: readonly string[] | null): Set<string> {
  const next = new Set(now)
  const on = !now.has(key)
  const [a, b] = range === null || last === null ? [-1, -1] : [range.indexOf(last), range.indexOf(key)]
  const touched = a < 0 || b < 0 ? [key] : range!.slice(Math.min(a, b), Math.max(a, b) + 1)
  for (const k of touched) {
    if (on) next.add(k)
    else next.delete(k)
  }
  return next
}

export function useSelection(): Selection {
  const [state, setState] = useState<{ keys: ReadonlySet<string>; last: string | null }>({ keys: new Set(), last: null })
  return useMemo(
    () => ({
      keys: state.keys,
      size: state.keys.size,
      has: (key) => state.keys.has(key),
      toggle: (key, range) => setState((now) => ({ keys: toggled(now.keys, key, now.last, range), last: key })),
      set: (keys) => setState({ keys: new Set(keys), last: null }),
      clear: () => setState({ keys: new Set(), last: null }),
    }),
    [state],
  )
}
