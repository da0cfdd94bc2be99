/** What acts on many servers ask of a caller. Apart from the acts: pages load this first. */
import type { Scope } from '../permissions.ts'
import type { BulkActKind } from './bulk-acts.ts'

/**
 * What a caller needs besides `servers:write`, also to change the operation of the act: it isn't
 * servers that the act changes.
 */
export const bulkAlsoNeeds: Readonly<Partial<Record<BulkActKind, Scope>>> = {
  upgrade: 'clusters:write',
  commit: 'marketplace:write',
}
