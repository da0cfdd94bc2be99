/** Who may change an operation. Apart from what lists of operations show, which pages load first. */
import { type Operation, operationTable, type Step } from '../operations.ts'
import type { Scope } from '../permissions.ts'
import { bulkKindOf } from '../servers/bulk-acts.ts'
import { bulkAlsoNeeds } from '../servers/bulk-needs.ts'

/** The scope of the call that begins an operation of this kind. */
export function writeScopeOf(kind: Operation['kind']): Scope {
  const row = operationTable[kind]
  return 'write' in row ? row.write : `${row.scope}:write`
}

/** The scopes that a caller needs to cancel, retry or resume an operation. */
export const scopesToChange = (
  { kind }: Pick<Operation, 'kind'>,
  steps: readonly Pick<Step, 'key'>[],
): Scope[] => {
  const also = kind === 'serverBulk' ? bulkAlsoNeeds[bulkKindOf({ steps })] : undefined
  return [writeScopeOf(kind), ...(also === undefined ? [] : [also])]
}
