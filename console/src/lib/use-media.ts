import { useMemo, useSyncExternalStore } from 'react'
import { type Breakpoint, media } from './breakpoints.ts'

/** Whether the screen is `below`, `upto` or `from` a breakpoint. Re-renders when that changes. */
export function useMedia(edge: 'below' | 'upto' | 'from', at: Breakpoint): boolean {
  const list = useMemo(() => matchMedia(media(edge, at)), [edge, at])
  return useSyncExternalStore(
    (changed) => {
      list.addEventListener('change', changed)
      return () => list.removeEventListener('change', changed)
    },
    () => list.matches,
  )
}
