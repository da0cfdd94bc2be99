/**
 * API tokens: credentials for programs, with scopes, an end, and no session. A token can do what
 * its scopes say as long as its user can. The response of the creation is the only one that
 * contains the token; Steelyard stores its hash.
 */
import * as z from 'zod/mini'
import { atMost, codeText, nameText } from '../bounds/fields.ts'
import { list, listOperation } from '../list.ts'
import { seen } from '../names.ts'
import { operation, type Words } from '../operation.ts'
import { byId, time, wholeIn } from '../page.ts'
import { type Role, Scope, scopesOf } from '../permissions.ts'
import { no, type Verdict, yes } from '../rule.ts'
import { User } from '../sessions.ts'

/** 256 random bits as base64url, after a prefix that secret scanners recognise. */
export const apiTokenPrefix = 'sy-api-'
export const apiTokenOver =
  'This API token is not valid: it has expired or was revoked, or its user was disabled.'
export const apiTokenPattern = /^sy-api-[A-Za-z0-9_-]{43}$/
export const longestTokenDays = 365
export const mostApiTokens = 50

export const apiTokenStatuses = ['usable', 'expired'] as const
export const ApiToken = z.object({
  id: z.uuid(),
  name: nameText,
  status: z.enum(apiTokenStatuses),
  user: User,
  /**
   * Scopes that the token was created with. Those that its user's role has lost since have no
   * effect.
   */
  scopes: atMost(Scope, Scope.options.length),
  created_at: time,
  expires_at: time,
  /** Accurate to a minute. */
  last_used_at: z.nullable(time),
  /** Source address of the last use. */
  last_used_ip: z.nullable(codeText),
})
export type ApiToken = z.infer<typeof ApiToken>

const apiTokens = list<ApiToken>()({
  nouns: ['API token', 'API tokens'],
  columns: {
    name: { label: 'Name', sort: true, value: (t: ApiToken) => t.name },
    status: { label: 'Status', kind: 'word', value: (t: ApiToken) => t.status },
    user: { label: 'User', hidden: true, value: (t: ApiToken) => t.user.email },
    scopes: { label: 'Scopes', value: (t: ApiToken) => t.scopes.join(', ') },
    expires_at: {
      label: 'Expires',
      kind: 'time',
      sort: true,
      value: (t: ApiToken) => t.expires_at,
    },
    last_used_at: {
      label: 'Last used',
      kind: 'time',
      sort: true,
      value: (t: ApiToken) => t.last_used_at,
    },
    last_used_ip: { label: 'From', kind: 'mono', value: (t: ApiToken) => t.last_used_ip },
    created_at: {
      label: 'Created',
      kind: 'time',
      sort: true,
      hidden: true,
      value: (t: ApiToken) => t.created_at,
    },
    id: { label: 'Id', kind: 'mono', hidden: true, value: (t: ApiToken) => t.id },
  },
  filters: {
    status: {
      label: 'Status',
      help: 'Only API tokens with this status',
      choices: apiTokenStatuses,
    },
  },
  order: '-created_at',
})

export const apiTokenList = listOperation(apiTokens, ApiToken, {
  name: 'apiTokenList',
  summary:
    "The caller's API tokens; with `users:manage`, also those of other users. The tokens themselves are never returned.",
  path: '/v1/tokens',
  scope: 'signed_in',
  more: { user_id: z.optional(z.union([z.literal('all'), z.uuid()])) },
})

const days = `Lifetime must be 1 to ${longestTokenDays} days`
export const NewApiToken = z.strictObject({
  name: z
    .string()
    .check(
      z.trim(),
      z.minLength(1, 'Enter a name'),
      z.maxLength(60, 'A name has at most 60 characters'),
      seen(),
    ),
  scopes: z.array(Scope).check(z.minLength(1, 'Choose at least one scope'), z.maxLength(20)),
  lifetime_days: z._default(wholeIn(1, longestTokenDays, days), 90),
})
export type NewApiToken = z.infer<typeof NewApiToken>

/** Whether a user with the scopes `held` may create a token with the scopes `asked`. */
export function mayHaveScopes(held: readonly Scope[], asked: readonly Scope[]): Verdict {
  const missing = asked.filter((scope) => !held.includes(scope))
  return missing.length === 0 ? yes : no(`Your role does not include ${missing.join(', ')}`)
}

/**
 * Whether a caller with the scopes `held` may give somebody a role, or a link with which somebody
 * gets it. Otherwise an API token with `users:manage` alone could make itself an admin.
 */
export function mayGiveRole(held: readonly Scope[], role: Role): Verdict {
  const missing = scopesOf[role].filter((scope) => !held.includes(scope))
  return missing.length === 0
    ? yes
    : no(`The role ${role} includes ${missing.join(', ')}, which the API token does not include`)
}

export const apiTokenCreate = operation('apiTokenCreate', 'POST /v1/tokens', 'signed_in', {
  summary: 'Create an API token. Only this response contains the token itself.',
  session: true,
  proof: true,
  body: NewApiToken,
  answer: z.extend(ApiToken, { token: z.string() }),
  status: 201,
  errors: ['name_taken'],
})
export const apiTokenRevoke = operation('apiTokenRevoke', 'DELETE /v1/tokens/{id}', 'signed_in', {
  summary:
    "Revoke an API token: one of the caller's own, or with `users:manage` any user's. It stops working within 5 s.",
  params: byId,
})

/** Words for the API documentation. */
export const words: Words = {
  objects: {
    ApiToken: [
      ApiToken,
      'A credential of a program: its user, its scopes, its end and its last use. The text of the token is returned only once, when it is created.',
    ],
    NewApiToken: [NewApiToken, 'An API token to create. Its scopes are at most those of its user.'],
  },
  fields: {
    lifetime_days: 'Lifetime in days, at most 365.',
    'apiTokenCreate.name': 'Name of the token, unique among those of the user.',
    scopes: 'What the token may do; at most what its user may do.',
    'apiTokenList.user_id':
      'Id of the user whose API tokens are listed; `all` for those of all users.',
  },
  bodies: {
    apiTokenCreate: { name: 'ci', scopes: ['servers:read', 'clusters:read'], lifetime_days: 90 },
  },
}
