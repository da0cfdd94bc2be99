/** Statuses of capacity commitments. Separate from the rules, which most pages don't need. */

/**
 * In the order of a commitment's life. Not committed: a draft whose terms can still change. Waiting
 * for delegation: the terms are fixed, and the buyer's confirmation is missing. Removed: kept for
 * history.
 */
export const ccStatuses = [
  'not_committed',
  'waiting_delegation',
  'waiting_start',
  'active',
  'completed',
  'failed',
  'removed',
] as const
export type CcStatus = (typeof ccStatuses)[number]

/** A server has at most one commitment with one of these statuses. */
export const openCcStatuses = [
  'not_committed',
  'waiting_delegation',
  'waiting_start',
  'active',
] as const satisfies readonly CcStatus[]
