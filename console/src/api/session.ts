import type { Operation } from '#contract/operation.ts'
import { permits } from '#contract/permissions.ts'
import type { Verdict } from '#contract/rule.ts'
import { heldScopes } from './auth.ts'

export { heldScopes, logOut, useUser } from './auth.ts'

/** Whether the signed-in person may make a call; the reason if not. The server judges again. */
export const allowed = (operation: Pick<Operation, 'scope'>): Verdict => permits(heldScopes(), operation.scope)
