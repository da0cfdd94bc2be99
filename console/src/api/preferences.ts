import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type Preferences, preferencesGet, preferencesPut, type SavedView } from '#contract/sessions.ts'
import { toast } from '../ui/feedback/toast.ts'
import { call } from './client.ts'
import { query } from './query.ts'
import { type PreferencesChange, savePreferences, withEntry } from './save-preferences.ts'

const atServer = { read: () => call(preferencesGet), write: (body: Preferences) => call(preferencesPut, { body }) }

/** The user's preferences. Changes show at once and are saved in the background, one after another. */
export function usePreferences(): { preferences: Preferences; setPreferences: (change: PreferencesChange) => void } {
  const client = useQueryClient()
  const asked = query(preferencesGet)
  const { data } = useQuery({ ...asked, staleTime: Number.POSITIVE_INFINITY })
  const { mutate } = useMutation({
    scope: { id: 'preferences' },
    mutationFn: (change: PreferencesChange) => savePreferences(change, atServer),
    onSuccess: (next) => client.setQueryData(asked.queryKey, next),
    onError: (error) => {
      toast.error(`Your preferences could not be saved: ${error.message}`, { id: 'preferences' })
      void client.invalidateQueries({ queryKey: asked.queryKey })
    },
  })
  const setPreferences = (change: PreferencesChange) => {
    client.setQueryData(asked.queryKey, (now) => change(now ?? {}))
    mutate(change)
  }
  return { preferences: data ?? {}, setPreferences }
}

/** The user's choices for one table: shown columns (all by default) and saved views. */
export function useTablePreferences(table: string): {
  shown: string[] | undefined
  setShown: (ids: string[] | undefined) => void
  views: readonly SavedView[]
  setViews: (change: (now: readonly SavedView[]) => SavedView[]) => void
} {
  const { preferences, setPreferences } = usePreferences()
  return {
    shown: preferences.columns?.[table],
    setShown: (ids) => setPreferences((now) => ({ ...now, columns: withEntry(now.columns, table, ids) })),
    views: preferences.views?.[table] ?? [],
    setViews: (change) => setPreferences((now) => ({ ...now, views: withEntry(now.views, table, change(now.views?.[table] ?? [])) })),
  }
}
