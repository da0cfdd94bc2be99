import { useQuery } from '@tanstack/react-query'
import {
  type Preferences,
  preferencesGet,
  preferencesPut,
  type SavedView,
} from '#contract/people/preferences.ts'
import { reasonOf } from '../lib/reason.ts'
import { toast } from '../ui/feedback/toast.ts'
import { storedUserId } from './auth.ts'
import { call } from './client.ts'
import { query, queryClient } from './query.ts'

/** Maps the current preferences to the new ones. */
type PreferencesChange = (now: Preferences) => Preferences

const atServer = {
  read: () => call(preferencesGet),
  write: (body: Preferences) => call(preferencesPut, { body }),
}

/**
 * Reads the preferences, changes them and writes them back. Reads first because the write replaces
 * all preferences, and another tab may have saved some.
 */
export const savePreferences = async (
  change: PreferencesChange,
  { read, write } = atServer,
): Promise<Preferences> => write(change(await read()))

/** Returns a copy of the record with one table's entry set, or removed if `entry` is undefined. */
export function withEntry<T>(
  known: Record<string, T> | undefined,
  table: string,
  entry: T | undefined,
): Record<string, T> {
  const { [table]: _, ...others } = known ?? {}
  return entry === undefined ? others : { ...others, [table]: entry }
}

const asked = query(preferencesGet)
/** Resolves when all changes have been saved or refused. */
let saved: Promise<unknown> = Promise.resolve()

/**
 * Changes the preferences. The change shows at once and is saved in the background, after earlier
 * changes. A change that still waits when the user signs out is dropped, because the next user's
 * preferences must not get it.
 */
export function setPreferences(change: PreferencesChange): void {
  const userId = storedUserId()
  const isOurs = () => storedUserId() === userId
  queryClient.setQueryData(asked.queryKey, (now) => change(now ?? {}))
  saved = saved
    .then(() => (isOurs() ? savePreferences(change) : undefined))
    .then(
      (next) => void (isOurs() && queryClient.setQueryData(asked.queryKey, next)),
      (error: unknown) => {
        if (!isOurs()) return
        toast.error(`Your preferences could not be saved: ${reasonOf(error)}`, {
          id: 'preferences',
        })
        void queryClient.invalidateQueries({ queryKey: asked.queryKey })
      },
    )
}

/** The user's preferences; undefined until they have loaded. */
export const useLoadedPreferences = (): Preferences | undefined =>
  useQuery({ ...asked, staleTime: Number.POSITIVE_INFINITY }).data

/** The user's preferences; empty until they have loaded. */
export const usePreferences = (): Preferences => useLoadedPreferences() ?? {}

/** The user's choices for one table: shown columns (all by default) and saved views. */
export function useTablePreferences(table: string) {
  const preferences = usePreferences()
  return {
    shown: preferences.columns?.[table],
    setShown: (ids: string[] | undefined) =>
      setPreferences((now) => ({ ...now, columns: withEntry(now.columns, table, ids) })),
    views: preferences.views?.[table] ?? [],
    setViews: (change: (now: readonly SavedView[]) => SavedView[]) =>
      setPreferences((now) => ({
        ...now,
        views: withEntry(now.views, table, change(now.views?.[table] ?? [])),
      })),
  }
}
