/**
 * Whether an error may end by itself (`contract/rule.ts`): a machine or an API doesn't answer for a
 * moment, or something is busy. Decided by the type of the error and never by its text.
 */
import { Problem } from '#contract/errors.ts'
import { TalosError, type TalosErrorKind } from '#talos/client/errors.ts'
import { KubernetesError } from './kubernetes/answers.ts'

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
  // Without a status there was no answer. An API server that starts or stops answers with 5xx.
  return (
    error instanceof KubernetesError &&
    (error.status === undefined || error.status === 429 || error.status >= 500)
  )
}
