/** Tones of a capacity commitment, for the marketplace and for servers. */
import type { CcStatus } from '#contract/marketplace/cc-statuses.ts'

/** Tone of each status, by the names of `Tone`. */
export const ccTones = {
  not_committed: 'off',
  waiting_delegation: 'idle',
  waiting_start: 'idle',
  active: 'ok',
  completed: 'off',
  failed: 'danger',
  removed: 'off',
} as const satisfies Record<CcStatus, string>
