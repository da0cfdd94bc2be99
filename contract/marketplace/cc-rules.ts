/** Rules of capacity commitments. Without schemas, so that pages can use them. */
import { all, no, type Verdict, yes } from '../rule.ts'
import type { CcStatus } from './cc-statuses.ts'

/** The statuses that may follow each status. */
const nextStatuses: Readonly<Record<CcStatus, readonly CcStatus[]>> = {
  not_committed: ['waiting_delegation'],
  waiting_delegation: ['waiting_start', 'removed'],
  waiting_start: ['active'],
  active: ['completed', 'failed'],
  completed: ['removed'],
  failed: ['removed'],
  removed: [],
}

const said: Readonly<Partial<Record<CcStatus, string>>> = {
  not_committed: 'not committed',
  waiting_delegation: 'waiting for delegation',
  waiting_start: 'waiting for its start',
}
const words = (status: CcStatus): string => said[status] ?? status

export function canChangeCcStatus(from: CcStatus, to: CcStatus): Verdict {
  const next = nextStatuses[from]
  if (next.includes(to)) return yes
  if (next.length === 0)
    return no('The commitment was removed, so its status cannot change any more')
  return no(
    `The status cannot change from ${words(from)} to ${words(to)}. After ${words(from)} comes ${next.map(words).join(' or ')}`,
  )
}

/** Whether price, times and offer can still be changed. */
export const canChangeCcTerms = (cc: { readonly status: CcStatus }): Verdict =>
  cc.status === 'not_committed' ? yes : no('The terms are fixed, because the capacity is committed')

/** The terms of a commitment; null: not agreed yet. Times are ISO 8601. */
interface CcTerms {
  readonly price: object | null
  /** null: the commitment starts when the delegation is confirmed. */
  readonly starts_at: string | null
  readonly expires_at: string | null
}

/** Longest time from the start to the end, in years. */
const longestYears = 10
const longestMs = longestYears * 366 * 24 * 3_600_000

/** Sentences by field: why a draft can't have these terms. `now` in ms since 1970. */
export function ccTermProblems(
  { starts_at, expires_at }: Omit<CcTerms, 'price'>,
  now: number,
): Readonly<Record<string, string>> {
  if (expires_at === null) return {}
  const [start, end] = [starts_at === null ? now : Date.parse(starts_at), Date.parse(expires_at)]
  if (starts_at !== null && end <= start) return { expires_at: 'The end must be after the start' }
  return end - start > longestMs
    ? { expires_at: `A commitment lasts at most ${longestYears} years` }
    : {}
}

/**
 * Sentences by field: what a draft lacks, or why its times can't be promised now. Empty if the
 * capacity can be committed.
 */
export function ccCommitProblems(terms: CcTerms, now: number): Readonly<Record<string, string>> {
  const problems: Record<string, string> = { ...ccTermProblems(terms, now) }
  if (terms.price === null) problems['price'] = 'Enter a price before you commit the capacity'
  if (terms.expires_at === null)
    problems['expires_at'] = 'Enter the end before you commit the capacity'
  else if (Date.parse(terms.expires_at) <= now) problems['expires_at'] = 'The end is in the past'
  return problems
}

/**
 * Whether a user may change the status of a commitment now. Doesn't check the terms of a draft; see
 * `ccCommitProblems`.
 */
export function canMoveCc(
  cc: {
    readonly status: CcStatus
    readonly expires_at: string | null
    readonly server: { readonly status: string }
  },
  to: CcStatus,
  now: number,
): Verdict {
  const isGone =
    cc.server.status === 'deleted' &&
    (to === 'waiting_delegation' || to === 'waiting_start' || to === 'active')
  const hasEnded =
    (to === 'waiting_start' || (to === 'active' && cc.status === 'waiting_start')) &&
    cc.expires_at !== null &&
    Date.parse(cc.expires_at) <= now
  return all(
    canChangeCcStatus(cc.status, to),
    isGone ? no('The server was removed, so its capacity cannot be promised any more') : yes,
    hasEnded ? no('The end of the commitment has passed') : yes,
  )
}

/** What the rules need of a server whose capacity is committed. */
interface Committable {
  readonly name: string
  readonly status: string
  readonly capacity_commitment: { readonly status: CcStatus } | null
}

/** Why a server can't get another commitment. */
export const hasOpenCc = (name: string, status: CcStatus): string =>
  `${name} already has a commitment that has not ended (${words(status)}); a server has at most one`

/**
 * Whether the capacity of a server can be committed with these terms, by a new commitment or by its
 * draft. `now` in ms since 1970.
 */
export function canCommitServer(server: Committable, terms: CcTerms, now: number): Verdict {
  const open = server.capacity_commitment?.status
  const [problem] = Object.values(ccCommitProblems(terms, now))
  return all(
    server.status === 'deleted'
      ? no('The server was removed, so its capacity cannot be promised any more')
      : yes,
    open === 'waiting_delegation' || open === 'waiting_start' || open === 'active'
      ? no(hasOpenCc(server.name, open))
      : yes,
    problem === undefined ? yes : no(problem),
  )
}

/** What puts a commitment at risk. */
type CcTrouble =
  | { readonly kind: 'server_removed' | 'no_cluster' }
  | { readonly kind: 'unreachable'; readonly since: string }

/**
 * The trouble of the server of a promised commitment; null if there is none, or if nothing is
 * promised.
 */
export function ccTrouble(cc: {
  readonly status: CcStatus
  readonly server: { readonly status: string; readonly unreachable_since: string | null }
  readonly cluster: object | null
}): CcTrouble | null {
  if (cc.status !== 'waiting_delegation' && cc.status !== 'waiting_start' && cc.status !== 'active')
    return null
  if (cc.server.status === 'deleted') return { kind: 'server_removed' }
  if (cc.server.unreachable_since !== null)
    return { kind: 'unreachable', since: cc.server.unreachable_since }
  return cc.status === 'active' && cc.cluster === null ? { kind: 'no_cluster' } : null
}

/**
 * What happens to the promised capacity of a server that is removed, or reset to maintenance; null
 * if nothing is promised.
 */
export function lostCommitment(
  server: {
    readonly name: string
    readonly capacity_commitment: { readonly status: CcStatus } | null
  },
  way: 'remove' | 'reset',
): string | null {
  const status = server.capacity_commitment?.status
  if (status !== 'waiting_delegation' && status !== 'waiting_start' && status !== 'active')
    return null
  const promised = `The capacity of ${server.name} is promised (${words(status)})`
  if (way === 'reset')
    return `${promised}: the commitment continues, although the server is in no cluster`
  if (status === 'waiting_delegation')
    return `${promised}: the commitment is removed with the server`
  return `${promised}: the commitment fails${status === 'waiting_start' ? ' at its start' : ''} without the server`
}
