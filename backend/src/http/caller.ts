/** The caller of a use-case, as the audit log names it. */
import type { Scope } from '#contract/permissions.ts'
import type { Tx } from '../db/db.ts'

/** A signed-in user, as the session guard found them. */
export interface UserCaller {
  readonly kind: 'user'
  readonly userId: string
  readonly email: string
  readonly sessionId: string
  readonly scopes: readonly Scope[]
  readonly ip: string
  readonly requestId: string
  /** Set where the call carries an Idempotency-Key: `record` reports its transaction, in which the answer is stored too. */
  readonly idempotency?: { readonly recordedIn: (tx: Tx) => void }
}

/** Nobody signed in: sign-in itself, the waitlist. */
export type AnonymousCaller = { readonly kind: 'anonymous'; readonly ip: string; readonly requestId: string }

/** Steelyard itself: a reconciler, the first user's settings. */
export type SystemCaller = { readonly kind: 'system'; readonly name: string }

export type Caller = UserCaller | AnonymousCaller | SystemCaller

/** The caller of changes that reconcilers make. */
export const system: SystemCaller = { kind: 'system', name: 'Steelyard' }

/** Name of a caller for people: email, "Steelyard", or "nobody". */
export const callerName = (caller: Caller): string => (caller.kind === 'user' ? caller.email : caller.kind === 'system' ? caller.name : 'nobody')
