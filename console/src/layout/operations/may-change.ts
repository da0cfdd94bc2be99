import type { Operation } from '#contract/operations.ts'
import { scopesToChange } from '#contract/operations/changing.ts'
import { all, type Verdict } from '#contract/rule.ts'
import { allowed } from '../../api/session.ts'

/** Whether the user may cancel, retry or resume the operation. */
export const mayChange = (operation: Operation): Verdict =>
  all(...scopesToChange(operation, operation.steps).map((scope) => allowed({ scope })))
