/** The key that successors of refresh tokens are made with: 32 random bytes, sealed in the database, made at its first use. */
import { randomBytes } from 'node:crypto'
import { type Db, inTransaction } from '../../db/db.ts'
import type { Vault } from '../../vault/vault.ts'

const place = { table: 'installation', column: 'rotation_key_sealed', owner: 'installation' }

export function rotationKey({ db, vault }: { db: Db; vault: Vault }): () => Promise<Uint8Array> {
  let known: Uint8Array | undefined
  return async () => {
    known ??= await inTransaction(db, async (tx) => {
      const { rotation_key_sealed: sealed } = await tx.selectFrom('installation').select('rotation_key_sealed').forUpdate().executeTakeFirstOrThrow()
      if (sealed) return vault.open(tx, { ...place, sealed })
      const key = randomBytes(32)
      await tx
        .updateTable('installation')
        .set({ rotation_key_sealed: await vault.seal(tx, { ...place, bytes: key }) })
        .execute()
      return key
    })
    return known
  }
}
