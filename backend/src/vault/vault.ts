/**
 * Encrypts secrets at rest. Each owner (a cluster, the installation) has a data key of its own;
 * data keys are wrapped by the key of the key file, which is stored outside the database. Both use
 * AES-256-GCM (NIST SP 800-38D) with 96-bit random nonces; the additional data names the owner,
 * table and column, so that a text that was moved to another row or column can't be decrypted.
 */
import { randomBytes } from 'node:crypto'
import path from 'node:path'
import { Told } from '../causes/told.ts'
import { type Db, inTransaction, type Tx } from '../db/db.ts'
import { whyRefused } from '../refusal.ts'
import { decrypt, encrypt, overheadBytes, SealBroken } from './cipher.ts'
import { writeDurably } from './durable.ts'
import type { KeyRing } from './key-file.ts'

/** The place where an encrypted text is stored. */
export interface Place {
  readonly table: string
  readonly column: string
  /** Id of the cluster or server that owns the secret, or `installation`. */
  readonly owner: string
}

export type Vault = ReturnType<typeof vault>

const format = 1
const batch = 100

/** Head of an encrypted text: format (1) | data key version (4) | encrypted text */
const headBytes = 1 + 4

const wrapContext = (owner: string, version: number) => `data_key|${owner}|${version}`
const textContext = ({ table, column, owner }: Place, version: number) =>
  `${table}|${column}|${owner}|${version}`

/** An escrow file can't be written. The message names the file, the reason, and what to do. */
class EscrowRefused extends Told {
  override readonly name = 'EscrowRefused'
}

/**
 * The escrow file of a cluster: its secrets, encrypted with a separate key, which is wrapped by the
 * key of the key file. Readable without the database.
 */
function escrowFile(keys: KeyRing, cluster: string, bytes: Uint8Array): Buffer {
  const key = randomBytes(32)
  const file = {
    format: 1,
    cluster,
    wrapping_key: keys.current.id,
    wrapped: encrypt(keys.current.key, key, `escrow key|${cluster}`).toString('base64'),
    sealed: encrypt(key, bytes, `escrow|${cluster}`).toString('base64'),
  }
  key.fill(0)
  return Buffer.from(`${JSON.stringify(file)}\n`)
}

/**
 * Writes the escrow file of a cluster and returns its path after it is on the disk.
 * @throws EscrowRefused if it can't be written
 */
async function writeEscrow(
  keys: KeyRing,
  folder: string,
  cluster: string,
  bytes: Uint8Array,
): Promise<string> {
  const name = `${cluster}.bin`
  try {
    return await writeDurably(folder, name, escrowFile(keys, cluster, bytes))
  } catch (cause) {
    throw new EscrowRefused(
      `The escrow file ${path.join(folder, name)} can't be written: ${whyRefused(cause)}. The cluster's secrets are not used before the file is on the disk; as soon as the file can be written, Steelyard continues by itself`,
      { cause },
    )
  }
}

/** @param parts `escrowFolder`: where the escrow files are written */
export function vault({ keys, escrowFolder }: { keys: KeyRing; escrowFolder: string }) {
  const unwrap = (row: {
    owner: string
    version: number
    wrapping_key: string
    wrapped: Uint8Array
  }): Buffer => {
    const wrapping = keys.get(row.wrapping_key)
    if (!wrapping)
      throw new SealBroken(
        `The key file has no key ${row.wrapping_key}, which encrypts the secrets of ${row.owner}`,
      )
    return decrypt(wrapping, row.wrapped, wrapContext(row.owner, row.version))
  }

  const dataKey = async (db: Db | Tx, owner: string, version: number): Promise<Buffer> => {
    const row = await db
      .selectFrom('data_key')
      .selectAll()
      .where('owner', '=', owner)
      .where('version', '=', version)
      .executeTakeFirst()
    if (!row) throw new SealBroken(`There is no data key ${version} of ${owner}`)
    return unwrap(row)
  }

  const newestKey = async (tx: Tx, owner: string): Promise<{ version: number; key: Buffer }> => {
    const newest = () =>
      tx
        .selectFrom('data_key')
        .selectAll()
        .where('owner', '=', owner)
        .orderBy('version', 'desc')
        .limit(1)
        .executeTakeFirst()
    const found = await newest()
    if (found) return { version: found.version, key: unwrap(found) }
    const key = randomBytes(32)
    const made = await tx
      .insertInto('data_key')
      .values({
        owner,
        version: 1,
        wrapping_key: keys.current.id,
        wrapped: encrypt(keys.current.key, key, wrapContext(owner, 1)),
      })
      .onConflict((c) => c.doNothing())
      .returning('version')
      .executeTakeFirst()
    if (made) return { version: 1, key }
    // Another transaction created the key while this one waited.
    const other = await newest()
    return { version: other!.version, key: unwrap(other!) }
  }

  return {
    /**
     * Encrypts `bytes` with the owner's data key. Creates the data key in the caller's transaction
     * if there is none.
     */
    async seal(
      tx: Tx,
      { bytes, ...place }: Place & { readonly bytes: Uint8Array },
    ): Promise<Uint8Array> {
      const { version, key } = await newestKey(tx, place.owner)
      const head = Buffer.alloc(headBytes)
      head.writeUInt8(format, 0)
      head.writeUInt32BE(version, 1)
      const sealed = Buffer.concat([head, encrypt(key, bytes, textContext(place, version))])
      key.fill(0)
      return sealed
    },

    /** @throws SealBroken if the text was changed or moved, or its key is missing */
    async open(
      db: Db | Tx,
      { sealed, ...place }: Place & { readonly sealed: Uint8Array },
    ): Promise<Buffer> {
      if (sealed.length < headBytes + overheadBytes || sealed[0] !== format)
        throw new SealBroken('This is not an encrypted value')
      const version = Buffer.from(sealed).readUInt32BE(1)
      const key = await dataKey(db, place.owner, version)
      try {
        return decrypt(key, sealed.subarray(headBytes), textContext(place, version))
      } finally {
        key.fill(0)
      }
    },

    /**
     * Writes the encrypted secrets of a cluster to their own file, so that the cluster isn't lost
     * with the database. Returns after the file is on the disk.
     * @throws EscrowRefused if the file can't be written
     */
    escrow: (clusterId: string, bytes: Uint8Array): Promise<string> =>
      writeEscrow(keys, escrowFolder, clusterId, bytes),

    /**
     * A new key for one file outside of the database, and the same key encrypted with the current
     * key of the key file, which is stored in the file.
     * @param context identifies the file, so that the key can't be used for another file
     */
    fileKey(context: string): {
      readonly key: Buffer
      readonly wrappingKey: string
      readonly wrapped: Buffer
    } {
      const key = randomBytes(32)
      return {
        key,
        wrappingKey: keys.current.id,
        wrapped: encrypt(keys.current.key, key, `file key|${context}`),
      }
    },

    /** @throws SealBroken if the key file lacks the key, or the context is of another file */
    openFileKey(
      context: string,
      { wrappingKey, wrapped }: { readonly wrappingKey: string; readonly wrapped: Uint8Array },
    ): Buffer {
      const wrapping = keys.get(wrappingKey)
      if (!wrapping)
        throw new SealBroken(
          `The key file has no key ${wrappingKey}, which encrypts this file: bring the line of this key back`,
        )
      return decrypt(wrapping, wrapped, `file key|${context}`)
    },

    /**
     * Wraps data keys again with the current key of the key file, in batches. Returns how many were
     * wrapped. May be interrupted and repeated.
     */
    async rotate(db: Db): Promise<number> {
      let left = 0
      for (;;) {
        const done = await inTransaction(db, async (tx) => {
          const rows = await tx
            .selectFrom('data_key')
            .selectAll()
            .where('wrapping_key', '!=', keys.current.id)
            .orderBy('owner')
            .orderBy('version')
            .limit(batch)
            .forUpdate()
            .skipLocked()
            .execute()
          for (const row of rows) {
            const key = unwrap(row)
            await tx
              .updateTable('data_key')
              .set({
                wrapping_key: keys.current.id,
                wrapped: encrypt(keys.current.key, key, wrapContext(row.owner, row.version)),
              })
              .where('owner', '=', row.owner)
              .where('version', '=', row.version)
              .execute()
            key.fill(0)
          }
          return rows.length
        })
        left += done
        if (done < batch) return left
      }
    },
  }
}

/**
 * A random key that is stored encrypted in the database and created at its first use. Returns a
 * function that reads the 32 bytes once and caches them. The key is created under the lock of the
 * installation's row, so that two processes agree.
 * @param read returns the encrypted key, if there is one
 * @param write stores a new encrypted key
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

/**
 * The installation's key, from which successors of refresh tokens and other secrets are derived.
 */
export const rotationKey = (parts: Parameters<typeof keptKey>[0]) =>
  keptKey(
    parts,
    { table: 'installation', column: 'rotation_key_sealed', owner: 'installation' },
    async (tx) =>
      (await tx.selectFrom('installation').select('rotation_key_sealed').executeTakeFirstOrThrow())
        .rotation_key_sealed,
    (tx, rotation_key_sealed) =>
      tx.updateTable('installation').set({ rotation_key_sealed }).execute(),
  )
