/** Queries of the join token pages, and the texts of a token's state, uses and expiry. */
import {
  type Arrival,
  type JoinToken,
  joinTokenArrivals,
  joinTokenList,
} from '#contract/join-tokens.ts'
import { query } from '../../api/query.ts'
import { askedOf, type ListSearch } from '../../lib/list-search.ts'
import { until } from '../../lib/time/time.ts'
import { count } from '../../lib/units.ts'
import type { Tone } from '../../ui/feedback/Status.tsx'
import { serverNow } from '../../lib/time/server-time.ts'

export const tokensQuery = (search: ListSearch) =>
  query(joinTokenList, { query: askedOf(joinTokenList, search) })

export const arrivalsPerPage = 25
export const arrivalsQuery = (id: string, page: number) =>
  query(joinTokenArrivals, { params: { id }, query: { page, per_page: arrivalsPerPage } })

export const tokenStates: Readonly<Record<JoinToken['status'], { tone: Tone; word: string }>> = {
  usable: { tone: 'ok', word: 'Usable' },
  used_up: { tone: 'idle', word: 'Used up' },
  expired: { tone: 'off', word: 'Expired' },
  revoked: { tone: 'off', word: 'Revoked' },
}

export const arrivalResults: Readonly<Record<Arrival['result'], { tone: Tone; word: string }>> = {
  waiting: { tone: 'busy', word: 'Waiting' },
  joined: { tone: 'ok', word: 'Joined' },
  failed: { tone: 'danger', word: 'Not joined' },
  refused: { tone: 'warn', word: 'Refused' },
}

/** "3 of 10"; without a limit "3". */
export const usesOf = (t: Pick<JoinToken, 'uses' | 'max_uses'>): string =>
  t.max_uses === null ? count(t.uses) : `${count(t.uses)} of ${count(t.max_uses)}`

/** A token expires by the time alone: no event says so. */
export const statusNow = (
  { status, expires_at }: Pick<JoinToken, 'status' | 'expires_at'>,
  now = serverNow(),
): JoinToken['status'] =>
  status === 'usable' && expires_at !== null && Date.parse(expires_at) <= now ? 'expired' : status

/** "in 6 d", "2 d ago", "Never". */
export const expiryOf = (t: Pick<JoinToken, 'expires_at'>, now = serverNow()): string =>
  t.expires_at === null ? 'Never' : until(t.expires_at, now)
