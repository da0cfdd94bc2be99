/** Signing in, staying signed in, signing out. The first two calls and their camel case are the specification's. */
import * as z from 'zod/mini'
import { seen } from './names.ts'
import { operation } from './operation.ts'
import { time } from './page.ts'
import { Scope } from './permissions.ts'

export const User = z.object({ id: z.uuid(), email: z.string(), name: z.string() })
export type User = z.infer<typeof User>

/** Longest life of a session from sign-in, in seconds. */
export const sessionLifetimeSeconds = 86_400
/** The one cookie, sent with calls below `/v1/authorize`: a device that its account has signed in from before. It signs nobody in. */
export const deviceCookie = 'steelyard_device'
/** Life of an access token, in seconds. */
export const accessTokenLifetimeSeconds = 600

export const email = z
  .string()
  .check(z.trim(), z.toLowerCase(), z.minLength(1, 'Enter your email'), z.maxLength(254), z.regex(/^[^\s@]+@[^\s@]+$/, 'Enter an email address'), seen())
/** Never trimmed: any character counts. */
export const newPassword = z
  .string()
  .check(z.minLength(12, 'Password must be at least 12 characters'), z.maxLength(128, 'Password must be no more than 128 characters'))

export const authorize = operation({
  name: 'authorize',
  summary: 'Sign in with email and password.',
  method: 'POST',
  path: '/v1/authorize',
  scope: null,
  body: z.strictObject({ email, password: z.string().check(z.minLength(1, 'Enter your password'), z.maxLength(128, 'Invalid email or password')) }),
  answer: z.object({ userData: User, accessToken: z.string(), refreshToken: z.string() }),
  errors: ['invalid_credentials', 'throttled'],
})

export const authorizeRefresh = operation({
  name: 'authorizeRefresh',
  summary: 'Get a new access token. With `rotate`, the refresh token is replaced and the old one is spent.',
  method: 'POST',
  path: '/v1/authorize/refresh',
  scope: null,
  body: z.strictObject({ refresh_token: z.string().check(z.minLength(1), z.maxLength(256)), rotate: z.optional(z.boolean()) }),
  answer: z.object({ access_token: z.string(), refresh_token: z.optional(z.string()) }),
  errors: ['session_expired'],
})

export const authorizeLogout = operation({
  name: 'authorizeLogout',
  summary: 'End the session of a refresh token. Safe to repeat.',
  method: 'POST',
  path: '/v1/authorize/logout',
  scope: null,
  body: z.strictObject({ refresh_token: z.string().check(z.minLength(1), z.maxLength(256)) }),
  status: 204,
})

export const sessionGet = operation({
  name: 'sessionGet',
  summary: 'Who is signed in, with which scopes, until when.',
  method: 'GET',
  path: '/v1/session',
  scope: 'signed_in',
  answer: z.object({ user: User, scopes: z.array(Scope), expiresAt: time }),
})

/** At most so many views of a table, each with a name of at most so many characters. */
export const viewLimits = { views: 20, nameLength: 40 } as const
/** What a list was narrowed to and how it was ordered, as it stands in the console's address, under a name. */
export const SavedView = z.strictObject({
  name: z
    .string()
    .check(z.trim(), z.minLength(1, 'Enter a name'), z.maxLength(viewLimits.nameLength, `A name has at most ${viewLimits.nameLength} characters`)),
  search: z.record(z.string().check(z.maxLength(40)), z.string().check(z.maxLength(200))),
})
export type SavedView = z.infer<typeof SavedView>

/** Theme, columns and saved views live with the user. */
export const Preferences = z.strictObject({
  theme: z.optional(z.enum(['dark', 'light', 'system'])),
  /** Shown columns by table. */
  columns: z.optional(z.record(z.string().check(z.maxLength(40)), z.array(z.string().check(z.maxLength(40))).check(z.maxLength(40)))),
  /** Saved views by table. */
  views: z.optional(z.record(z.string().check(z.maxLength(40)), z.array(SavedView).check(z.maxLength(viewLimits.views)))),
  sidebar: z.optional(z.enum(['expanded', 'collapsed'])),
})
export type Preferences = z.infer<typeof Preferences>

export const preferencesGet = operation({
  name: 'preferencesGet',
  summary: "The user's preferences.",
  method: 'GET',
  path: '/v1/session/preferences',
  scope: 'signed_in',
  answer: Preferences,
})
export const preferencesPut = operation({
  name: 'preferencesPut',
  summary: "Replace the user's preferences.",
  method: 'PUT',
  path: '/v1/session/preferences',
  scope: 'signed_in',
  body: Preferences,
  answer: Preferences,
})
