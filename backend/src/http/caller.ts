/** The caller of a use-case, as named in the audit log. */
import { Problem } from '#contract/errors.ts'
import type { Operation } from '#contract/operation.ts'
import { mayGiveRole } from '#contract/people/api-tokens.ts'
import { permits, type Role, type Scope } from '#contract/permissions.ts'
import { yes } from '#contract/rule.ts'
import type { Tx } from '../db/db.ts'

/** A signed-in user, as determined by the session guard. */
export interface UserCaller {
  readonly kind: 'user'
  readonly userId: string
  readonly email: string
  /** Id of the session, or of the API token. */
  readonly sessionId: string
  /** A program calls, with an API token. */
  readonly isToken?: boolean
  /** Time of the session's last proof of identity, in ms since 1970; undefined for an API token. */
  readonly provedAt?: number
  /** The user's role requires a second factor, which the session lacks. */
  readonly lacksSecondFactor?: boolean
  readonly scopes: readonly Scope[]
  readonly ip: string
  readonly requestId: string
  /**
   * The set of files that `steelyard apply` carries out with this request. Objects that the request
   * creates are recorded as part of the set.
   */
  readonly appliedSet?: string
  /**
   * Set if the request has an Idempotency-Key: `record` reports its transaction here, and the
   * response is stored in the same transaction.
   */
  readonly idempotency?: { readonly recordedIn: (tx: Tx) => void }
}

/** A caller without a session: at sign-in or on the waitlist. */
export type AnonymousCaller = {
  readonly kind: 'anonymous'
  readonly ip: string
  readonly requestId: string
}

/** Steelyard itself: a reconciler, or the creation of the first user from the settings. */
export type SystemCaller = {
  readonly kind: 'system'
  readonly name: string
  /** The user who requested what the reconciler carries out. */
  readonly userId?: string | undefined
  /** The set of files whose change the reconciler carries out. */
  readonly appliedSet?: string
  /**
   * The reconciler begins what was requested earlier: a cluster that other files have locked
   * meanwhile refuses it, as it refuses users.
   */
  readonly begins?: true
}

export type Caller = UserCaller | AnonymousCaller | SystemCaller

/** @throws Problem forbidden unless the caller has the scope */
export function demandScope({ scopes, isToken }: UserCaller, scope: Operation['scope']): void {
  const verdict = permits(scopes, scope)
  if (!verdict.ok)
    throw new Problem(
      'forbidden',
      isToken ? `The API token does not include ${scope}` : verdict.reason,
    )
}

/**
 * Whether the caller may list and end the sessions and API tokens of a user: a session those of its
 * own user, and `users:manage` those of everybody. An API token needs `users:manage` for its own
 * user too, so that a stolen token of little use can't shut its user out.
 */
export const mayManageAccess = (caller: UserCaller, userId: string): boolean =>
  caller.scopes.includes('users:manage') || (!caller.isToken && userId === caller.userId)

/** @throws Problem forbidden unless `mayManageAccess` */
export function demandAccess(caller: UserCaller, userId: string): void {
  if (!mayManageAccess(caller, userId))
    throw new Problem(
      'forbidden',
      `${caller.isToken ? 'The API token' : 'Your role'} does not include users:manage`,
    )
}

/** @throws Problem forbidden unless the user may give somebody the role */
export function demandRole(caller: Caller, role: Role): void {
  const verdict = caller.kind === 'user' ? mayGiveRole(caller.scopes, role) : yes
  if (!verdict.ok) throw Problem.of('forbidden', verdict)
}

/** The caller of changes that reconcilers make. */
export const system: SystemCaller = { kind: 'system', name: 'Steelyard' }

/** The caller of a command that somebody runs on the machine of Steelyard, without signing in. */
export const onMachine: SystemCaller = {
  kind: 'system',
  name: 'Steelyard, by a command on its machine',
}

/** The caller that begins what was requested earlier, by a set of files or by none. */
export const beginning = (by: SystemCaller, set: string | null): SystemCaller => ({
  ...by,
  begins: true,
  ...(set !== null && { appliedSet: set }),
})

/** The set of files that is carried out; null if none is. */
export const appliedSetOf = (caller: Caller): string | null =>
  caller.kind === 'anonymous' ? null : (caller.appliedSet ?? null)

/** Display name of a caller: email, "Steelyard", or "nobody". */
export const callerName = (caller: Caller): string =>
  caller.kind === 'user' ? caller.email : caller.kind === 'system' ? caller.name : 'nobody'
