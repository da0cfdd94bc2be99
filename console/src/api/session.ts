import type { Operation } from '#contract/operation.ts'
import { permits } from '#contract/permissions.ts'
import { no, type Verdict, yes } from '#contract/rule.ts'
import { heldScopes } from './auth.ts'

export { heldScopes, logOut, useUser } from './auth.ts'

/** Whether the signed-in person may make a call; the reason if not, which blames the role only while there is a session that says what the role is. The server judges again. */
export function allowed({ scope }: Pick<Operation, 'scope'>): Verdict {
  const held = heldScopes()
  if (held !== null) return permits(held, scope)
  return scope === null ? yes : no('Your session has ended. Sign in again.')
}
