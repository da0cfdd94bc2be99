import type { Operation } from '#contract/operation.ts'
import { permits, type Role, roles, scopesOf } from '#contract/permissions.ts'
import { no, type Verdict, yes } from '#contract/rule.ts'
import { readClaims } from '../lib/jwt.ts'
import { accessToken, stands } from './access.ts'
import { storedToken } from './auth.ts'

export { logOut, renamed, useAuthLoading, useUser } from './auth.ts'

let known: { token: string; scopes: readonly string[] } = { token: '', scopes: [] }
/**
 * Scopes of the stored access token. Null if there is no session or no access token yet; the user's
 * role is unknown then.
 */
export function heldScopes(): readonly string[] | null {
  const token = stands() ? (storedToken() ?? '') : ''
  if (token !== known.token) known = { token, scopes: token === '' ? [] : readClaims(token).scopes }
  return token === '' ? null : known.scopes
}

/**
 * Gets a new access token although the stored one is valid, because the user's scopes have changed.
 */
export const renewScopes = (): Promise<string> => accessToken(storedToken())

/**
 * The user's role, known by its scopes; null if the session has ended or the scopes are those of no
 * role.
 */
export function heldRole(): Role | null {
  const held = heldScopes() ?? []
  return roles.findLast((role) => scopesOf[role].every((scope) => held.includes(scope))) ?? null
}

/**
 * Whether the signed-in user may make a call, with the reason if not. The reason names the role
 * only while the session's scopes are known. Only for display: the server checks each call itself.
 */
export function allowed({ scope }: Pick<Operation, 'scope'>): Verdict {
  const held = heldScopes()
  if (held === null) return scope === null ? yes : no('Your session has ended. Sign in again.')
  const verdict = permits(held, scope)
  if (verdict.ok) return verdict
  const role = heldRole()
  return role === null
    ? verdict
    : no(
        `${verdict.reason}. You are ${role === 'viewer' ? 'a' : 'an'} ${role}; your profile names who can give you another role`,
      )
}

/**
 * Whether the user may see the pages of admins. Without a declared call, because the audit log's
 * declaration is large and every page would load it.
 */
export const mayManageUsers = (): Verdict => allowed({ scope: 'users:manage' })
