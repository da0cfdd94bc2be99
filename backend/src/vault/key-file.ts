/**
 * The key file: one key per line, `steelyard-key-1 <id> <base64>`; the last key is the current one.
 * Rotation adds a line. An older line is needed as long as a data key, a snapshot or an escrow file
 * is wrapped by its key. The file is created with mode 0600 at the first start, and refused if other
 * accounts can read it.
 */
import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { access, link, readFile, stat, unlink } from 'node:fs/promises'
import path from 'node:path'
import type { Pool } from 'pg'
import { type Db, inTransaction } from '../db/db.ts'
import { closing, isOpenToOthers } from '../private-file.ts'
import { Refusal, whyRefused } from '../refusal.ts'
import { writeDurably } from './durable.ts'

export type KeyRing = Pick<ReturnType<typeof parseKeys>, 'current' | 'get'>

/** The key file can't be used. The message says what to do. */
export class KeyFileRefused extends Refusal {
  override readonly name = 'KeyFileRefused'
}

const idOf = (key: Uint8Array): string =>
  createHash('sha256').update('steelyard key').update(key).digest('hex').slice(0, 16)
const lineOf = (key: Uint8Array): string =>
  `steelyard-key-1 ${idOf(key)} ${Buffer.from(key).toString('base64')}\n`

/** Parses a key file. `file`: its name in error messages. @throws KeyFileRefused */
export function parseKeys(text: string, file: string) {
  const keys = text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const [kind, id, encoded] = line.split(' ')
      const key = Buffer.from(encoded ?? '', 'base64')
      if (kind !== 'steelyard-key-1' || key.length !== 32 || id !== idOf(key))
        throw new KeyFileRefused(
          `${file} is not a key file of Steelyard, or a line of it was changed`,
          { lasts: true },
        )
      return { id, key }
    })
  const current = keys.at(-1)
  if (!current) throw new KeyFileRefused(`${file} holds no key`, { lasts: true })
  const byId = new Map(keys.map((k) => [k.id, k.key]))
  return { current, ids: [...byId.keys()], get: (id: string) => byId.get(id) }
}

/**
 * @throws KeyFileRefused if the file is missing or damaged, or can be read by accounts other than
 * its owner
 */
export async function readKeyFile(file: string): Promise<KeyRing> {
  const found = await stat(file).catch((error: unknown) => {
    throw new KeyFileRefused(`The key file ${file} can't be read: ${whyRefused(error)}`)
  })
  if (isOpenToOthers(found))
    throw new KeyFileRefused(
      `${file} can be read by others than its owner: ${closing(file, found)}`,
      { lasts: true },
    )
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new KeyFileRefused(`The key file ${file} can't be read: ${whyRefused(error)}`)
  })
  return parseKeys(text, file)
}

/** Creates the key file atomically. If two processes start at once, only one creates it. */
async function makeKeyFile(file: string): Promise<void> {
  const making = `${path.basename(file)}.${randomUUID()}`
  const made = await writeDurably(
    path.dirname(file),
    making,
    Buffer.from(lineOf(randomBytes(32))),
  ).catch((error: unknown) => {
    throw new KeyFileRefused(`The key file ${file} can't be made: ${whyRefused(error)}`)
  })
  try {
    await link(made, file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    await unlink(made)
  }
}

/**
 * Id of the key that the database uses; null if it uses none yet. Also works before the first
 * migration.
 */
async function keyOf(pool: Pool): Promise<string | null> {
  const { rows: made } = await pool.query<{ made: boolean }>(
    `select to_regclass('installation') is not null as made`,
  )
  if (!made[0]!.made) return null
  const { rows } = await pool.query<{ key_fingerprint: string | null }>(
    'select key_fingerprint from installation',
  )
  return rows[0]?.key_fingerprint ?? null
}

/**
 * Reads the key file before the database is changed. Creates a new file only if the database uses
 * no key yet: a new key couldn't decrypt existing secrets.
 * @throws KeyFileRefused if the database needs another key; the message names its id and the path
 * of the file
 */
export async function keysFor(pool: Pool, file: string): Promise<KeyRing> {
  const wanted = await keyOf(pool)
  const isMissing = await access(file).then(
    () => false,
    (error: NodeJS.ErrnoException) => error.code === 'ENOENT',
  )
  if (isMissing) {
    if (wanted !== null)
      throw new KeyFileRefused(
        `There is no key file at ${file}, and this database was sealed with key ${wanted}. Nothing was changed and no new key was made, because a new key could not open the existing secrets. Put your copy of the file with that key there, or set STEELYARD_KEY_FILE to its path`,
      )
    await makeKeyFile(file)
  }
  const keys = await readKeyFile(file)
  if (wanted !== null && !keys.get(wanted)) throw notTheKey(file, wanted)
  return keys
}

const notTheKey = (file: string, wanted: string) =>
  new KeyFileRefused(
    `${file} is not the key file of this database, which was sealed with key ${wanted}: set STEELYARD_KEY_FILE to the right one`,
    { lasts: true },
  )

/**
 * Adds a new current key to the file. `rotate` then wraps all data keys again; snapshots and escrow
 * files still need the older keys.
 * @throws KeyFileRefused if the file is damaged; it stays as it is
 */
export async function addKey(file: string): Promise<KeyRing> {
  const text = await readFile(file, 'utf8')
  // An editor or a copy by hand may have dropped the last line break.
  const next = `${text}${text.endsWith('\n') ? '' : '\n'}${lineOf(randomBytes(32))}`
  parseKeys(next, file)
  await writeDurably(path.dirname(file), path.basename(file), Buffer.from(next))
  return parseKeys(await readFile(file, 'utf8'), file)
}

/**
 * Checks that the key file has the key of the database. At the first start it stores the id of the
 * current key in the database.
 * @throws KeyFileRefused if the key of this database is missing
 */
export async function checkFingerprint(db: Db, keys: KeyRing, file: string): Promise<void> {
  await inTransaction(db, async (tx) => {
    const { key_fingerprint: known } = await tx
      .selectFrom('installation')
      .select('key_fingerprint')
      .forUpdate()
      .executeTakeFirstOrThrow()
    if (known !== null && !keys.get(known)) throw notTheKey(file, known)
    if (known !== keys.current.id)
      await tx.updateTable('installation').set({ key_fingerprint: keys.current.id }).execute()
  })
}
