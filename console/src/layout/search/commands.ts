import { useEffect, useId } from 'react'
import { setPreferences } from '../../api/preferences.ts'
import { createStore, useStore } from '../../lib/store.ts'
import { setTheme, theme } from '../../lib/theme.ts'
import type { Action } from '../../ui/actions.ts'
import type { PaletteGroup } from '../../ui/overlay/CommandPalette.tsx'

/**
 * Actions that ⌘K offers in addition to pages. Each page and each selection adds its own actions.
 */
export const commandGroups = createStore<readonly (PaletteGroup & { id: string })[]>([])
/** Whether the palette is open. */
export const paletteOpen = createStore(false)

/** Adds the page's actions to ⌘K under `heading` while the page is mounted. */
export function useCommands(heading: string, actions: readonly Action[]): void {
  const id = useId()
  useEffect(() => {
    if (actions.length === 0) return undefined
    commandGroups.set((now) => [
      { id, heading, actions },
      ...now.filter((group) => group.id !== id),
    ])
    return () => commandGroups.set((now) => now.filter((group) => group.id !== id))
  }, [id, heading, actions])
}

/** The action that switches to the other theme and saves the choice for the user. */
export function useThemeAction(): Action {
  const other = useStore(theme) === 'dark' ? 'light' : 'dark'
  const run = () => {
    setTheme(other)
    setPreferences((kept) => ({ ...kept, theme: other }))
  }
  return other === 'light'
    ? { label: 'Light theme', icon: 'sun', run }
    : { label: 'Dark theme', icon: 'moon', run }
}
