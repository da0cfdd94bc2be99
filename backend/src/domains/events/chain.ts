/**
 * The hashes of the audit log. Each is an HMAC (RFC 2104) over the entry, its number and the
 * previous hash. The key is stored in the database only in encrypted form, so the database alone is
 * not enough to forge a valid chain.
 */
import { createHash, createHmac, randomBytes } from 'node:crypto'
import type { Selectable } from 'kysely'
import type { Db, Tx } from '../../db/db.ts'
import type { Tables } from '../../db/tables.gen.ts'
import type { Vault } from '../../vault/vault.ts'

/** The hashed fields of an entry, in addition to its number and the previous hash. */
export type AuditFields = Omit<
  Selectable<Tables['audit_entry']>,
  'seq' | 'hash' | 'previous_hash' | 'at'
> & { readonly at: string }

/** Number and hash of an entry. */
export type ChainHead = Readonly<Pick<Selectable<Tables['audit_entry']>, 'seq' | 'hash'>>

export interface Chain {
  readonly key: Buffer
  /**
   * The last entry that was hashed without the key; number 0 and an empty hash if there is none.
   */
  readonly after: ChainHead
}

const place = { table: 'publication', column: 'chain_sealed', owner: 'installation' } as const

/**
 * JSON with sorted object keys, so that the same entry always gives the same text (modelled on RFC
 * 8785).
 */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  const fields = Object.entries(value).filter(([, inner]) => inner !== undefined)
  return `{${fields
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, inner]) => `${JSON.stringify(key)}:${canonical(inner)}`)
    .join(',')}}`
}

const textOf = (previous: string, seq: number, entry: AuditFields): string =>
  `${previous}\n${canonical({ seq, ...entry })}`

/** HMAC-SHA-256, hex. */
export const keyedHash = (
  key: Uint8Array,
  previous: string,
  seq: number,
  entry: AuditFields,
): string =>
  createHmac('sha256', key)
    .update(textOf(previous, seq, entry))
    .digest('hex')

/** SHA-256, hex: the hash of older entries, from before the chain had a key. */
export const unkeyedHash = (previous: string, seq: number, entry: AuditFields): string =>
  createHash('sha256')
    .update(textOf(previous, seq, entry))
    .digest('hex')

/**
 * Generates the key for the entries after `after`, and the encrypted text to store. The text also
 * contains `after`: otherwise an attacker could rewrite all entries with hashes that need no key.
 */
export async function beginChain(
  vault: Vault,
  tx: Tx,
  after: ChainHead,
): Promise<{ chain: Chain; sealed: Uint8Array }> {
  const key = randomBytes(32)
  const text = JSON.stringify({ key: key.toString('base64'), after })
  return {
    chain: { key, after },
    sealed: await vault.seal(tx, { ...place, bytes: Buffer.from(text) }),
  }
}

/** @throws SealBroken if the sealed text was changed, or was sealed with another key file */
export async function openChain(vault: Vault, on: Db | Tx, sealed: Uint8Array): Promise<Chain> {
  const { key, after } = JSON.parse(
    (await vault.open(on, { ...place, sealed })).toString('utf8'),
  ) as { key: string; after: ChainHead }
  return { key: Buffer.from(key, 'base64'), after }
}
