/** What other domains may call of joining: servers that announce themselves with a token. */
import type { EarlyDocuments } from '#contract/images/early.ts'
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

/** Keeps documents for a new server, which it needs in each configuration. */
export type KeepDocuments = (tx: Tx, serverId: string, yaml: string) => Promise<void>

export interface Joining {
  /** A token of any status, or null if there is none. */
  readonly tokenFor: (on: Db | Tx, tokenId: string) => Promise<TokenForImage | null>
  /**
   * Keeps the documents of an image with the token, so that the answer to an announcement repeats
   * them. Safe to repeat.
   * @param digest names them in the announcement
   * @throws Problem conflict: the token has as many as it can have
   */
  readonly keepEarly: (
    tx: Tx,
    tokenId: string,
    digest: string,
    documents: EarlyDocuments,
  ) => Promise<void>
}
