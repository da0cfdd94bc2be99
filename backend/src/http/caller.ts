/** The caller of a use-case, as named in the audit log. */
import type { Scope } from '#contract/permissions.ts'
import type { Tx } from '../db/db.ts'

/** A signed-in user, as determined by the session guard. */
export interface UserCaller {
  readonly kind: 'user'
  readonly userId: string
  readonly email: string
  readonly sessionId: string
  readonly scopes: readonly Scope[]
  readonly ip: string
  readonly requestId: string
  /** Set if the request has an Idempotency-Key: `record` reports its transaction here, and the response is stored in the same transaction. */
  readonly idempotency?: { readonly recordedIn: (tx: Tx) => void }
}

/** A caller without a session: at sign-in or on the waitlist. */
export type AnonymousCaller = { readonly kind: 'anonymous'; readonly ip: string; readonly requestId: string }

/** Steelyard itself: a reconciler, or the creation of the first user from the settings. */
export type SystemCaller = { readonly kind: 'system'; readonly name: string }

export type Caller = UserCaller | AnonymousCaller | SystemCaller

/** The caller of changes that reconcilers make. */
export const system: SystemCaller = { kind: 'system', name: 'Steelyard' }

/** Display name of a caller: email, "Steelyard", or "nobody". */
export const callerName = (caller: Caller): string => (caller.kind === 'user' ? caller.email : caller.kind === 'system' ? caller.name : 'nobody')
