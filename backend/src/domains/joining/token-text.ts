/**
 * The text of a join token. It is derived from the token's id by a key that is sealed in the database, so that an image can be shown again with it
 * while the table of tokens holds nothing but hashes: 128 bits of HMAC-SHA256 (RFC 2104), base64url, after a prefix.
 */
import { createHash, createHmac, randomBytes } from 'node:crypto'
import { type Db, inTransaction } from '../../db/db.ts'
import type { Vault } from '../../vault/vault.ts'
import * as store from './store.ts'

const place = { table: 'join_key', column: 'key_sealed', owner: 'installation' }
const prefix = 'sy-join-'
const tokenBytes = 16

export const textOf = (key: Uint8Array, tokenId: string): string =>
  `${prefix}${createHmac('sha256', key).update(tokenId).digest().subarray(0, tokenBytes).toString('base64url')}`

/** SHA-256 of a token's text: what is stored and looked up. */
export const hashOf = (text: string): Buffer => createHash('sha256').update(text).digest()

/** The key, made at its first use; read once and kept. */
export function joinKey({ db, vault }: { db: Db; vault: Vault }): () => Promise<Uint8Array> {
  let known: Uint8Array | undefined
  return async () => {
    known ??= await inTransaction(db, async (tx) => {
      const kept = await store.sealedKey(tx)
      if (kept) return vault.open(tx, { ...place, sealed: kept.key_sealed })
      const key = randomBytes(32)
      if (await store.insertKey(tx, await vault.seal(tx, { ...place, bytes: key }))) return key
      return vault.open(tx, { ...place, sealed: (await store.sealedKey(tx))!.key_sealed })
    })
    return known
  }
}
