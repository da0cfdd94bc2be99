/** What a failed contact makes of a BMC. Pure. */
import type { BmcStatus } from '#contract/bmcs/state.ts'
import { Problem } from '#contract/errors.ts'
import { RedfishError } from '#redfish/errors.ts'

/** Failures in a row after which a BMC counts as unreachable. */
export const missesToSilent = 3

export interface Failure {
  /** The status that follows; null: the BMC keeps its own. */
  readonly status: BmcStatus | null
  readonly reason: string
  /** It is asked again by itself. */
  readonly isPassing: boolean
}

/** Undefined for an error that is none of the BMC's. */
export function failureOf(
  error: unknown,
  { status, failures }: { readonly status: BmcStatus; readonly failures: number },
): Failure | undefined {
  if (error instanceof Problem && (error.code === 'dial_refused' || error.code === 'bmc_not_ready'))
    return { status: null, reason: error.message, isPassing: true }
  if (!(error instanceof RedfishError)) return undefined
  const reason = error.message
  switch (error.kind) {
    case 'denied':
      return { status: 'denied', reason, isPassing: false }
    case 'certificate':
      return { status: 'changed', reason, isPassing: false }
    case 'unsupported':
      return { status: 'unsupported', reason, isPassing: false }
    default: {
      const isSilent = status !== 'ready' || failures + 1 >= missesToSilent
      return { status: isSilent ? 'unreachable' : null, reason, isPassing: true }
    }
  }
}
