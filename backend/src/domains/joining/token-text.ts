/**
 * The text of a join token. It is derived from the token's id with a key that is encrypted in the
 * database, so that an image can be shown again with its token, although the table of tokens
 * contains only hashes. Format: a prefix, then 128 bits of HMAC-SHA256 (RFC 2104) in base64url.
 */
import { createHash, createHmac } from 'node:crypto'
import { keptKey } from '../../vault/vault.ts'
import * as store from './store.ts'

const place = { table: 'join_key', column: 'key_sealed', owner: 'installation' }
const prefix = 'sy-join-'
const tokenBytes = 16

export const textOf = (key: Uint8Array, tokenId: string): string =>
  `${prefix}${createHmac('sha256', key).update(tokenId).digest().subarray(0, tokenBytes).toString('base64url')}`

/** SHA-256 of a token's text, which is stored and looked up instead of the text. */
export const hashOf = (text: string): Buffer => createHash('sha256').update(text).digest()

export const joinKey = (parts: Parameters<typeof keptKey>[0]) =>
  keptKey(parts, place, store.sealedKey, store.insertKey)
