/** Keys that are random, kept sealed in the database, and created at their first use. */
import { randomBytes } from 'node:crypto'
import { type Db, inTransaction, type Tx } from '../db/db.ts'
import type { Place, Vault } from './vault.ts'

/**
 * Answers a function that reads the 32 bytes once and keeps them. They are created under the lock of the installation's row, so that two processes agree.
 * @param read the sealed key, if there is one
 * @param write stores a new sealed key
 */
export function keptKey(
  { db, vault }: { db: Db; vault: Vault },
  place: Place,
  read: (tx: Tx) => Promise<Uint8Array | null | undefined>,
  write: (tx: Tx, sealed: Uint8Array) => Promise<unknown>,
): () => Promise<Uint8Array> {
  let known: Uint8Array | undefined
  return async () => {
    known ??= await inTransaction(db, async (tx) => {
      await tx.selectFrom('installation').select('id').forUpdate().execute()
      const sealed = await read(tx)
      if (sealed) return vault.open(tx, { ...place, sealed })
      const bytes = randomBytes(32)
      await write(tx, await vault.seal(tx, { ...place, bytes }))
      return bytes
    })
    return known
  }
}

/** The key that derives successors of refresh tokens, and others of the installation's secrets. */
export const rotationKey = (parts: Parameters<typeof keptKey>[0]) =>
  keptKey(
    parts,
    { table: 'installation', column: 'rotation_key_sealed', owner: 'installation' },
    async (tx) => (await tx.selectFrom('installation').select('rotation_key_sealed').executeTakeFirstOrThrow()).rotation_key_sealed,
    (tx, rotation_key_sealed) => tx.updateTable('installation').set({ rotation_key_sealed }).execute(),
  )
