import type { Operation } from '#contract/operation.ts'
import { permits } from '#contract/permissions.ts'
import { no, type Verdict, yes } from '#contract/rule.ts'
import { heldScopes } from './auth.ts'

export { heldScopes, logOut, useAuthLoading, useUser } from './auth.ts'

/**
 * Whether the signed-in user may make a call, with the reason if not. The reason names the role only while the session's scopes are known.
 * Only for display: the server checks each call itself.
 */
export function allowed({ scope }: Pick<Operation, 'scope'>): Verdict {
  const held = heldScopes()
  if (held !== null) return permits(held, scope)
  return scope === null ? yes : no('Your session has ended. Sign in again.')
}

/** Whether the user may see the pages of admins. Without a declared call, because the audit log's declaration is large and every page would load it. */
export const mayManageUsers = (): Verdict => allowed({ scope: 'users:manage' })
