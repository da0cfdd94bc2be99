import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type Preferences, preferencesGet, preferencesPut, type SavedView } from '#contract/sessions.ts'
import { toast } from '../ui/feedback/toast.ts'
import { call } from './client.ts'
import { query } from './query.ts'

/** Maps the current preferences to the new ones. */
type PreferencesChange = (now: Preferences) => Preferences

const atServer = { read: () => call(preferencesGet), write: (body: Preferences) => call(preferencesPut, { body }) }

/** Reads the preferences, changes them and writes them back. Reads first because the write replaces all preferences, and another tab may have saved some. */
export const savePreferences = async (change: PreferencesChange, { read, write } = atServer): Promise<Preferences> => write(change(await read()))

/** Returns a copy of the record with one table's entry set, or removed if `entry` is undefined. */
export function withEntry<T>(known: Record<string, T> | undefined, table: string, entry: T | undefined): Record<string, T> {
  const { [table]: _, ...others } = known ?? {}
  return entry === undefined ? others : { ...others, [table]: entry }
}

/** The user's preferences. Changes show at once and are saved in the background, one after another. */
export function usePreferences() {
  const client = useQueryClient()
  const asked = query(preferencesGet)
  const { data } = useQuery({ ...asked, staleTime: Number.POSITIVE_INFINITY })
  const { mutate } = useMutation({
    scope: { id: 'preferences' },
    mutationFn: (change: PreferencesChange) => savePreferences(change),
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
  const preferences: Preferences = data ?? {}
  return { preferences, setPreferences }
}

/** The user's choices for one table: shown columns (all by default) and saved views. */
export function useTablePreferences(table: string) {
  const { preferences, setPreferences } = usePreferences()
  return {
    shown: preferences.columns?.[table],
    setShown: (ids: string[] | undefined) => setPreferences((now) => ({ ...now, columns: withEntry(now.columns, table, ids) })),
    views: preferences.views?.[table] ?? [],
    setViews: (change: (now: readonly SavedView[]) => SavedView[]) =>
      setPreferences((now) => ({ ...now, views: withEntry(now.views, table, change(now.views?.[table] ?? [])) })),
  }
}
