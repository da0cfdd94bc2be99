/** What other domains may call of joining: servers that announce themselves with a token. */
import type { JoinToken } from '#contract/join-tokens.ts'
import type { Db, Tx } from '../../db/db.ts'

/** A join token for use in images. */
export interface TokenForImage {
  /** Must never be written to the database, the log, the audit log or an event. */
  readonly text: string
  readonly name: string
  readonly status: JoinToken['status']
  readonly datacenterId: string | null
}

export interface Joining {
  /** A token of any status, or null if there is none. */
  readonly tokenFor: (on: Db | Tx, tokenId: string) => Promise<TokenForImage | null>
}
