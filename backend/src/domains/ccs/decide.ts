/** Decides what time and the server's fate change about a commitment. Pure. */
import type { CcStatus } from '#contract/marketplace/ccs.ts'
import type { CcRow } from './store.ts'

/** A change of the status. `at`: when it took effect, which may be before it is noticed. */
export interface Move {
  readonly to: CcStatus
  readonly at: Date
  readonly reason?: string | undefined
}

type Facts = Pick<
  CcRow,
  'status' | 'starts_at' | 'expires_at' | 'delegated_at' | 'started_at' | 'server_removed_at'
>

const serverRemoved = 'The server was removed'
const later = (a: Date, b: Date | null): Date => (b !== null && b > a ? b : a)

/**
 * The next change that is due; null if nothing is. A commitment may need several in a row, for
 * example after Steelyard was down for a week.
 */
export function dueMove(
  { status, starts_at, expires_at, delegated_at, started_at, server_removed_at: removed }: Facts,
  now: Date,
): Move | null {
  if (status === 'waiting_delegation')
    return removed === null ? null : { to: 'removed', at: now, reason: serverRemoved }
  // Nothing runs before the delegation, even if the agreed start is earlier.
  if (status === 'waiting_start')
    return starts_at !== null && starts_at <= now
      ? { to: 'active', at: later(starts_at, delegated_at) }
      : null
  if (status !== 'active') return null
  // A server that was removed after the end has kept its promise.
  if (removed !== null && (expires_at === null || removed < expires_at))
    return { to: 'failed', at: later(removed, started_at), reason: serverRemoved }
  return expires_at !== null && expires_at <= now ? { to: 'completed', at: expires_at } : null
}

/** When time alone will change the status next; null if it won't. */
export const nextMoveAt = ({
  status,
  starts_at,
  expires_at,
}: Pick<Facts, 'status' | 'starts_at' | 'expires_at'>): Date | null =>
  status === 'waiting_start' ? starts_at : status === 'active' ? expires_at : null
