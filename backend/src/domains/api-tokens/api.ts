/** What other code may call of API tokens. */
import type { Tx } from '../../db/db.ts'
import type { Caller, UserCaller } from '../../http/caller.ts'
import type { Authenticate } from '../../http/session.ts'

export interface ApiTokens {
  /** Whether the text has the form of an API token. */
  readonly isToken: (text: string) => boolean
  /** Revokes all tokens of a user, in every process after the commit. */
  readonly revokeAll: (tx: Tx, caller: Caller, userId: string) => Promise<void>
  readonly authenticate: Authenticate
  /** The callers whose token was revoked or has lost permissions since their stream was opened. */
  readonly lapsed: (callers: readonly UserCaller[]) => Promise<UserCaller[]>
}
