/** What other code may call of API tokens. */
import type { UserCaller } from '../../http/caller.ts'
import type { Authenticate } from '../../http/session.ts'

export interface ApiTokens {
  /** Whether the text has the form of an API token. */
  readonly isToken: (text: string) => boolean
  readonly authenticate: Authenticate
  /** The callers whose token was revoked or has lost permissions since their stream was opened. */
  readonly lapsed: (callers: readonly UserCaller[]) => Promise<UserCaller[]>
}
