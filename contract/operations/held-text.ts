/** Apart from `contract/restoration.ts`, which every page of the console loads. */
import { operationTitle } from '../operations.ts'
import type { HeldCluster } from '../restoration.ts'
import { counted, someOf } from '../words.ts'

/**
 * Text for a cluster on hold after a restore: the state of its servers, and the operations that
 * will resume.
 */
export function heldText({ servers, unasked, unreachable, operations }: HeldCluster): string {
  const asked =
    unasked.length > 0
      ? `${servers - unasked.length} of ${counted(servers, 'server')} contacted`
      : unreachable.length > 0
        ? `${someOf(unreachable)} ${unreachable.length === 1 ? 'does' : 'do'} not answer`
        : servers === 1
          ? 'its server answers'
          : `${servers === 2 ? 'both' : `all ${servers}`} servers answer`
  return operations.length === 0
    ? asked
    : `${asked}; continues ${operations.map((o) => operationTitle(o)).join(', ')}`
}
