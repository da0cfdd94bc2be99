import type { Preferences } from '#contract/sessions.ts'

/** Maps the current preferences to the new ones. */
export type PreferencesChange = (now: Preferences) => Preferences

/** Reads the preferences from the server, changes them and writes them back. The call replaces all preferences, and another tab may have saved some meanwhile. */
export async function savePreferences(
  change: PreferencesChange,
  { read, write }: { read: () => Promise<Preferences>; write: (next: Preferences) => Promise<Preferences> },
): Promise<Preferences> {
  return write(change(await read()))
}

/** Copies the record with the entry of one table set; undefined removes the entry. */
export function withEntry<T>(known: Record<string, T> | undefined, table: string, entry: T | undefined): Record<string, T> {
  const { [table]: _, ...others } = known ?? {}
  return entry === undefined ? others : { ...others, [table]: entry }
}
