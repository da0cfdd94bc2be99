import { useSyncExternalStore } from 'react'
import { type Breakpoint, media } from './breakpoints.ts'

const queries = new Map<string, MediaQueryList>()
function query(text: string): MediaQueryList {
  const known = queries.get(text) ?? matchMedia(text)
  queries.set(text, known)
  return known
}

/** Whether the screen is `below`, `upto` or `from` a breakpoint, now and as it changes. */
export function useMedia(edge: 'below' | 'upto' | 'from', at: Breakpoint): boolean {
  const list = query(media(edge, at))
  return useSyncExternalStore(
    (changed) => {
      list.addEventListener('change', changed)
      return () => list.removeEventListener('change', changed)
    },
    () => list.matches,
  )
}
