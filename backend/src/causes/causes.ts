/**
 * What an error means, by its type and never by its text. The only place that decides it: answers to
 * requests, the engine, the loops and the log ask here.
 */
import { DatabaseError } from 'pg'
import { ConfigError } from '#talos/config/problem.ts'
import { TalosError } from '#talos/client/errors.ts'
import { OutOfTime } from '#contract/connections/causes.ts'
import { Problem } from '#contract/errors.ts'
import { CommitUnknown, DatabaseAway, DatabaseSilent } from '../db/away.ts'
import { Told } from './told.ts'

/**
 * Of the database: `database_away` (no connection, or it was lost), `database_silent` (no connection
 * became free in time), `database_unsure` (lost during a commit, so the change may be stored),
 * `database_busy` (it has given up, because of its limits or of others' locks), `database_full` (its
 * disk), `database_refused` (it refuses the statement).
 *
 * Of another side (machine, Kubernetes, factory, store, channel, provider): `peer_silent` (no usable
 * answer; one may come later), `peer_refused` (it has answered that it refuses).
 *
 * `refused`: a rule of Steelyard, or its own files and limits; the message is for people. `stopped`:
 * this program has ended the work itself. `bug`: anything else.
 */
export type Cause =
  | 'database_away'
  | 'database_silent'
  | 'database_unsure'
  | 'database_busy'
  | 'database_full'
  | 'database_refused'
  | 'peer_silent'
  | 'peer_refused'
  | 'refused'
  | 'stopped'
  | 'bug'

/** Codes of PostgreSQL (Appendix A) beside whole classes. */
const states: Readonly<Record<string, Cause>> = {
  // read_only_sql_transaction: the primary is a standby now.
  '25006': 'database_away',
  // idle_in_transaction_session_timeout, transaction_timeout: the session has ended.
  '25P03': 'database_away',
  '25P04': 'database_away',
  // serialization_failure and deadlock_detected, after all attempts.
  '40001': 'database_busy',
  '40P01': 'database_busy',
  // disk_full, too_many_connections
  '53100': 'database_full',
  '53300': 'database_away',
  // lock_not_available
  '55P03': 'database_busy',
  // query_canceled, of the limit of a statement
  '57014': 'database_busy',
}
/**
 * Connection exceptions, insufficient resources, operator intervention (a shutdown, a start, an
 * ended session), errors outside of PostgreSQL.
 */
const classes: Readonly<Record<string, Cause>> = {
  '08': 'database_away',
  '53': 'database_busy',
  '57': 'database_away',
  '58': 'database_busy',
}

const ofDatabase = (code = ''): Cause =>
  states[code] ?? classes[code.slice(0, 2)] ?? 'database_refused'

const ofTalos = ({ kind }: TalosError): Cause =>
  kind === 'cancelled'
    ? 'stopped'
    : kind === 'unreachable' || kind === 'timeout' || kind === 'unavailable'
      ? 'peer_silent'
      : 'peer_refused'

/** Errors of sockets and names that have no type. */
const socketErrors = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'EHOSTDOWN',
  'ENETUNREACH',
  'ENETDOWN',
  'ENOTFOUND',
  'EAI_AGAIN',
])

/** Of one error, without those that it wraps; undefined if only these can say it. */
function own(error: Error): Cause | undefined {
  if (error instanceof CommitUnknown) return 'database_unsure'
  if (error instanceof DatabaseSilent) return 'database_silent'
  if (error instanceof DatabaseAway) return 'database_away'
  if (error instanceof DatabaseError) return ofDatabase(error.code)
  if (error instanceof TalosError) return ofTalos(error)
  if (error instanceof Problem || error instanceof ConfigError) return 'refused'
  if (error instanceof Told) return error.meaning
  if (error instanceof OutOfTime || error.name === 'TimeoutError') return 'peer_silent'
  if (error.name === 'AbortError') return 'stopped'
  if ('syscall' in error && 'code' in error && socketErrors.has(String(error.code)))
    return 'peer_silent'
  return undefined
}

/** Those that decide, if an error wraps several: the first of them. */
const order: readonly Cause[] = [
  'database_unsure',
  'database_away',
  'database_silent',
  'database_busy',
  'database_full',
  'database_refused',
  'stopped',
  'peer_silent',
  'peer_refused',
  'refused',
]

/** The cause of an error, or of what it wraps (`cause`, AggregateError). */
export function causeOf(error: unknown): Cause {
  return found(error, new Set()) ?? 'bug'
}

function found(error: unknown, seen: Set<unknown>): Cause | undefined {
  if (!(error instanceof Error) || seen.has(error)) return undefined
  seen.add(error)
  const known = own(error)
  const inner = [error.cause, ...(error instanceof AggregateError ? error.errors : [])].flatMap(
    (one) => found(one, seen) ?? [],
  )
  // What a lost database has caused is over when the database is back, whatever it was told as.
  const ofDatabaseAway = inner.find((one) => isAway(one))
  if (known !== undefined)
    return error instanceof Problem || known.startsWith('database_')
      ? known
      : (ofDatabaseAway ?? known)
  return order.find((one) => inner.includes(one))
}

const isAway = (cause: Cause): boolean =>
  cause === 'database_away' || cause === 'database_silent' || cause === 'database_unsure'

/** Whether the message of an error is a sentence for people. */
export const isForPeople = (error: unknown): boolean =>
  error instanceof Told ||
  error instanceof Problem ||
  error instanceof TalosError ||
  error instanceof ConfigError

/** Whether the database can't do the work now: nothing else that needs it can be done either. */
export function isDatabaseTrouble(error: unknown): boolean {
  const cause = causeOf(error)
  return isAway(cause) || cause === 'database_busy' || cause === 'database_full'
}

/**
 * Whether an error only means that the database could not be reached, so that the work is done again
 * when it is back, and the error is no news.
 */
export const isDatabaseAway = (error: unknown): boolean => isAway(causeOf(error))
