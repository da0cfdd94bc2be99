import type { Preferences } from '#contract/sessions.ts'

/** What becomes of the preferences as they are. */
export type PreferencesChange = (now: Preferences) => Preferences

/** Changes what the server has, not what this tab last saw: the call replaces all of it, and another tab or browser may have saved meanwhile. */
export async function savePreferences(
  change: PreferencesChange,
  { read, write }: { read: () => Promise<Preferences>; write: (next: Preferences) => Promise<Preferences> },
): Promise<Preferences> {
  return write(change(await read()))
}

/** A record by table with one table's entry changed; undefined takes it out. */
export function withEntry<T>(known: Record<string, T> | undefined, table: string, entry: T | undefined): Record<string, T> {
  const { [table]: _, ...others } = known ?? {}
  return entry === undefined ? others : { ...others, [table]: entry }
}
