import type { FindingSeverity } from '#contract/findings/kinds.ts'
import type { Tone } from './Status.tsx'

export const findingTones: Readonly<Record<FindingSeverity, Tone>> = {
  down: 'danger',
  degraded: 'warn',
  attention: 'warn',
}
