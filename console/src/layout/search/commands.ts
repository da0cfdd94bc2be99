import { useEffect, useId } from 'react'
import { createStore } from '../../lib/store.ts'
import type { Action } from '../../ui/actions.ts'

export interface CommandGroup {
  id: string
  heading: string
  actions: readonly Action[]
}

/** Actions in ⌘K beside pages: each page and selection adds its own. */
export const commandGroups = createStore<readonly CommandGroup[]>([])
/** Whether the palette is open. */
export const paletteOpen = createStore(false)

/** Adds the page's actions to ⌘K under `heading` while the page is mounted. */
export function useCommands(heading: string, actions: readonly Action[]): void {
  const id = useId()
  useEffect(() => {
    if (actions.length === 0) return undefined
    commandGroups.set((now) => [{ id, heading, actions }, ...now.filter((group) => group.id !== id)])
    return () => commandGroups.set((now) => now.filter((group) => group.id !== id))
  }, [id, heading, actions])
}
