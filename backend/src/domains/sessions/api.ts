/** What other code may call of sessions, passwords and second factors. */
import type { Problem } from '#contract/errors.ts'
import type { Tx } from '../../db/db.ts'
import type { Caller, UserCaller } from '../../http/caller.ts'
import type { Authenticate } from '../../http/session.ts'

export { sessionSource } from './own-password.ts'
export { demandGoodPassword, hashPassword } from './password.ts'
export { emailOf, hasGroups, nameOf, roleOf, verifiedOf } from './provider/claims.ts'
export { revokedChannel, rightsChanged } from './rights.ts'
export { hashOf } from './token-hash.ts'

export type EndReason =
  | 'logout'
  | 'refresh_reuse'
  | 'ended'
  | 'disabled'
  | 'removed'
  | 'password_changed'
  | 'password_reset'
  | 'second_factor_reset'
  | 'no_group'

type Person = { readonly id: string; readonly email: string }

export interface Sessions {
  readonly authenticate: Authenticate
  /** The callers whose session has ended or has lost permissions since their stream was opened. */
  readonly lapsed: (callers: readonly UserCaller[]) => Promise<UserCaller[]>
  /**
   * When the session's user last proved their identity, in ms since 1970, from the database. 0:
   * there is no such session.
   */
  readonly lastProof: (sessionId: string) => Promise<number>
  /** Whether the session stands, from the database. */
  readonly isOpen: (tx: Tx, sessionId: string) => Promise<boolean>
  /** Ends all of a person's sessions except one. Returns their ids. */
  readonly endAll: (
    tx: Tx,
    caller: Caller,
    person: Person,
    reason: EndReason,
    but?: string,
  ) => Promise<string[]>
  /** Removes all failed attempts at an account, of all sources. Returns their number. */
  readonly unlock: (tx: Tx, email: string) => Promise<number>
  /** Removes all second factors of somebody who has lost them. */
  readonly resetSecondFactor: (tx: Tx, caller: Caller, person: Person) => Promise<void>
  /**
   * Whether this is the caller's password. Guesses are throttled by session. @throws Problem
   * throttled, unavailable; conflict if the account has no password
   */
  readonly isOwnPassword: (
    caller: UserCaller,
    account: { email: string; password_hash: string | null },
    password: string,
  ) => Promise<boolean>
  /** Records a refused sign-in; of many, only their number. Returns the problem. */
  readonly refused: (
    caller: Caller,
    problem: Problem,
    about: { person: Person | undefined; ip: string; device?: string | undefined },
  ) => Promise<Problem>
  /** Which ways to sign in this installation offers. */
  readonly offered: {
    readonly passkeys: { readonly rp_id: string | null; readonly reason: string | null }
    /** Name of the identity provider. */
    readonly provider: string | null
  }
}
