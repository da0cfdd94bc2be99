/** The key that derives successors of refresh tokens. */
import { keptKey } from '../../vault/kept-key.ts'

const place = { table: 'installation', column: 'rotation_key_sealed', owner: 'installation' }

export const rotationKey = (parts: Parameters<typeof keptKey>[0]) =>
  keptKey(
    parts,
    place,
    async (tx) => (await tx.selectFrom('installation').select('rotation_key_sealed').executeTakeFirstOrThrow()).rotation_key_sealed,
    (tx, rotation_key_sealed) => tx.updateTable('installation').set({ rotation_key_sealed }).execute(),
  )
