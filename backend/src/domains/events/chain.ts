/**
 * The hashes of the audit log. Each is an HMAC (RFC 2104) over the entry, its number and the hash before it, under a key that lies in the database
 * only sealed. So the database alone is not enough to write a chain that holds.
 */
import { createHash, createHmac, randomBytes } from 'node:crypto'
import type { Selectable } from 'kysely'
import type { Db, Tx } from '../../db/db.ts'
import type { Tables } from '../../db/tables.gen.ts'
import type { Vault } from '../../vault/vault.ts'

/** What is hashed of an entry, in addition to its number and the hash before it. */
export type AuditFields = Omit<Selectable<Tables['audit_entry']>, 'seq' | 'hash' | 'previous_hash' | 'at'> & { readonly at: string }

/** An entry by its number, and its hash. */
export type ChainHead = Readonly<Pick<Selectable<Tables['audit_entry']>, 'seq' | 'hash'>>

export interface Chain {
  readonly key: Buffer
  /** The last entry before the chain was keyed; number 0 and an empty hash if there is none. */
  readonly after: ChainHead
}

const place = { table: 'publication', column: 'chain_sealed', owner: 'installation' } as const

/** JSON with the keys of every object in order, so that the same entry always gives the same text (after RFC 8785). */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  const fields = Object.entries(value).filter(([, inner]) => inner !== undefined)
  return `{${fields
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, inner]) => `${JSON.stringify(key)}:${canonical(inner)}`)
    .join(',')}}`
}

const textOf = (previous: string, seq: number, entry: AuditFields): string => `${previous}\n${canonical({ seq, ...entry })}`

/** HMAC-SHA-256, hex. */
export const keyedHash = (key: Uint8Array, previous: string, seq: number, entry: AuditFields): string =>
  createHmac('sha256', key)
    .update(textOf(previous, seq, entry))
    .digest('hex')

/** SHA-256, hex: how entries were hashed before there was a key. */
export const unkeyedHash = (previous: string, seq: number, entry: AuditFields): string =>
  createHash('sha256')
    .update(textOf(previous, seq, entry))
    .digest('hex')

/**
 * A key for the entries after `after`, and the sealed text to store. It contains the end of the unkeyed entries: otherwise all entries could be
 * rewritten without a key.
 */
export async function beginChain(vault: Vault, tx: Tx, after: ChainHead): Promise<{ chain: Chain; sealed: Uint8Array }> {
  const key = randomBytes(32)
  const text = JSON.stringify({ key: key.toString('base64'), after })
  return { chain: { key, after }, sealed: await vault.seal(tx, { ...place, bytes: Buffer.from(text) }) }
}

/** @throws SealBroken where the sealed text was changed, or the key file is another */
export async function openChain(vault: Vault, on: Db | Tx, sealed: Uint8Array): Promise<Chain> {
  const { key, after } = JSON.parse((await vault.open(on, { ...place, sealed })).toString('utf8')) as { key: string; after: ChainHead }
  return { key: Buffer.from(key, 'base64'), after }
}
