/**
 * Whether an error may end by itself (`contract/rule.ts`): a machine or an API doesn't answer for a
 * moment, or something is busy. Decided by the type of the error and never by its text.
 */
import { Problem } from '#contract/errors.ts'
import { TalosError, type TalosErrorKind } from '#talos/client/errors.ts'
import { causeOf } from './causes/causes.ts'

/** `cancelled`: the time limit of a plan or a call was over. */
const silent: ReadonlySet<TalosErrorKind> = new Set([
  'unreachable',
  'timeout',
  'cancelled',
  'unavailable',
])

export function isForNow(error: unknown): boolean {
  if (error instanceof Problem)
    return error.kind === 'for_now' || error.retryAfterSeconds !== undefined
  if (error instanceof TalosError) return silent.has(error.kind)
  return causeOf(error) === 'peer_silent'
}
