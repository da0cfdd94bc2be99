/** What other domains may call of the users of this installation. */
import type { Input } from '#contract/operation.ts'
import type { Role } from '#contract/permissions.ts'
import type { Person, userCreate } from '#contract/users.ts'
import type { Db, Tx } from '../../db/db.ts'
import type { Caller } from '../../http/caller.ts'
import type { Sessions } from '../sessions/api.ts'

export { refusingTaken } from './taken.ts'

/** A user's account. */
export interface Account {
  readonly id: string
  readonly email: string
  readonly name: string
  readonly role: Role
  /** Null: the account can't sign in with a password. */
  readonly password_hash: string | null
  readonly disabled_at: Date | null
  readonly created_at: Date
}

/** What the identity provider says about a user. */
export interface Identity {
  readonly issuer: string
  readonly subject: string
  readonly claims: Readonly<Record<string, unknown>>
}

/** What ends with a user's rights. */
export interface Access {
  /** Withdraws the invitations of somebody who stops being an active administrator. */
  readonly invitations: {
    readonly endOf: (tx: Tx, caller: Caller, inviterId: string) => Promise<void>
  }
  readonly sessions: Pick<Sessions, 'endAll'>
  /** Revokes all tokens of a user, in every process after the commit. */
  readonly apiTokens: {
    readonly revokeAll: (tx: Tx, caller: Caller, userId: string) => Promise<void>
  }
}

export interface Users {
  /** @throws Problem forbidden, user_exists; invalid if the password is easily guessed */
  readonly create: (caller: Caller, user: Input<typeof userCreate>['body']) => Promise<Person>
  /** Creates the first admin; undefined if there are users already. */
  readonly createFirst: (user: {
    email: string
    password: string
    name?: string
  }) => Promise<Person | undefined>
  /** Adds a user in the caller's transaction. */
  readonly insert: (
    tx: Tx,
    caller: Caller,
    user: Pick<Account, 'email' | 'name' | 'role' | 'password_hash'>,
  ) => Promise<Person>
  readonly count: () => Promise<number>
  /** Locks the user until the end of the transaction. Undefined for an id that doesn't exist. */
  readonly lock: (tx: Tx, id: string) => Promise<Account | undefined>
  /** Undefined for an id that doesn't exist. */
  readonly byId: (id: string) => Promise<Account | undefined>
  readonly byEmail: (email: string, on?: Db | Tx) => Promise<Account | undefined>
  /** The first active admins by name. */
  readonly administrators: (limit: number) => Promise<{ email: string; name: string }[]>
  /**
   * Locks the administrators until the end of the transaction, as each change of one does first: so
   * what the caller makes can't outlive a concurrent change of the caller's account. Does nothing
   * for callers that are not users. @throws Problem forbidden unless the caller is an active
   * administrator
   */
  readonly demandAdmin: (tx: Tx, caller: Caller) => Promise<void>
  /** Changes the displayed name of a user. */
  readonly rename: (caller: Caller, id: string, name: string) => Promise<void>
  /** Records a sign-in. `rehashed`: the hash that replaces that of the password. */
  readonly signedIn: (tx: Tx, id: string, at: Date, rehashed: string | undefined) => Promise<void>
  /** Whether the person has signed in through the identity provider. */
  readonly hasProvider: (id: string) => Promise<boolean>
  /**
   * The user to whom an account at the provider belongs, linked or added if necessary, with the
   * role of its groups. A user without any group is refused and loses what is open: `access` ends
   * it.
   * @throws Problem provider_refused with what is missing
   */
  readonly ofIdentity: (caller: Caller, identity: Identity, access: Access) => Promise<Account>
  /** Whether an account at the provider is that of a user. */
  readonly isIdentityOf: (identity: Identity, userId: string) => Promise<boolean>
}
