// @vitest-environment happy-dom
import { expect, test } from 'vitest'
import type { Preferences } from '#contract/people/preferences.ts'
import { savePreferences, withEntry } from './preferences.ts'

test('a change is applied to the server’s current preferences, so another tab’s changes are kept', async () => {
  let stored: Preferences = { theme: 'dark', columns: { servers: ['name'] } }
  const server = {
    read: async () => stored,
    write: async (next: Preferences) => (stored = next),
  }
  expect(await savePreferences((now) => ({ ...now, theme: 'light' }), server)).toEqual({
    theme: 'light',
    columns: { servers: ['name'] },
  })
  expect(stored).toEqual({ theme: 'light', columns: { servers: ['name'] } })
})

test('the entry of one table is set or removed, and the others stay', () => {
  expect(withEntry({ servers: ['name'], clusters: ['name'] }, 'servers', undefined)).toEqual({
    clusters: ['name'],
  })
  expect(withEntry(undefined, 'servers', ['name'])).toEqual({ servers: ['name'] })
})
