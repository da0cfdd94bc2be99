/** Preferences of a user for the console. */
import * as z from 'zod/mini'
import { operation, type Words } from '../operation.ts'

/** Limits of saved views per table. */
export const viewLimits = { views: 20, nameLength: 40 } as const
/** Named filters and sort order of a list, as in the console's URL. */
export const SavedView = z.strictObject({
  name: z
    .string()
    .check(
      z.trim(),
      z.minLength(1, 'Enter a name'),
      z.maxLength(viewLimits.nameLength, `A name has at most ${viewLimits.nameLength} characters`),
    ),
  search: z.record(z.string().check(z.maxLength(40)), z.string().check(z.maxLength(200))),
})
export type SavedView = z.infer<typeof SavedView>

/** Theme, columns and saved views of a user. */
export const Preferences = z.strictObject({
  theme: z.optional(z.enum(['dark', 'light', 'system'])),
  /** Shown columns by table. */
  columns: z.optional(
    z.record(
      z.string().check(z.maxLength(40)),
      z.array(z.string().check(z.maxLength(40))).check(z.maxLength(40)),
    ),
  ),
  /** Saved views by table. */
  views: z.optional(
    z.record(
      z.string().check(z.maxLength(40)),
      z.array(SavedView).check(z.maxLength(viewLimits.views)),
    ),
  ),
  sidebar: z.optional(z.enum(['expanded', 'collapsed'])),
  /** The first steps on the overview. Without a value they are shown until they are done. */
  first_steps: z.optional(z.literal('dismissed')),
})
export type Preferences = z.infer<typeof Preferences>

export const preferencesGet = operation(
  'preferencesGet',
  'GET /v1/session/preferences',
  'signed_in',
  {
    summary: "The user's preferences.",
    answer: Preferences,
  },
)
/** Not for API tokens: one that may only read could change the views that its user acts by. */
export const preferencesPut = operation(
  'preferencesPut',
  'PUT /v1/session/preferences',
  'signed_in',
  {
    summary: "Replace the user's preferences.",
    body: Preferences,
    answer: Preferences,
    session: true,
  },
)

/** Words for the API documentation. */
export const words: Words = {
  fields: {
    columns: 'Displayed columns of each table.',
    first_steps: '`dismissed`: the overview no longer shows the first steps.',
    'preferencesPut.name': 'Name of the view.',
    search: 'Search, filters and order of the list, as in the URL.',
    sidebar: 'How the sidebar is shown.',
    theme: 'Colour theme of the console.',
    views: 'Saved views by table.',
  },
  bodies: {
    preferencesPut: { theme: 'dark', columns: { servers: ['name', 'status'] } },
  },
}
