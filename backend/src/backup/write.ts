/**
 * Writes a backup to a temporary file, flushes it, reads it back as a whole, and only then renames
 * it.
 */
import { randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { link, open, stat, unlink } from 'node:fs/promises'
import path from 'node:path'
import { Refusal, whyRefused } from '../refusal.ts'
import { syncFolder } from '../vault/durable.ts'
import { type Contents, visit } from './load.ts'
import { readRecords } from './records.ts'
import { BackupRefused, type KnownKeys, seal, unseal } from './sealed.ts'

/** Reads and checks a whole backup. @throws BackupRefused */
export const readBackup = (file: string, passphrase: string, known?: KnownKeys) =>
  readRecords(unseal(passphrase, createReadStream(file), known))

export const check = (file: string, passphrase: string, known?: KnownKeys): Promise<Contents> =>
  visit(readBackup(file, passphrase, known))

/**
 * Resolves after the file is on the disk and was read back. If anything fails or `signal` is
 * aborted, no file remains.
 * @throws BackupRefused if a file of that name exists or the file can't be written
 */
export async function writeBackup(
  file: string,
  passphrase: string,
  records: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): Promise<{ contents: Contents; bytes: number }> {
  if (await stat(file).catch(() => undefined))
    throw new BackupRefused(`${file} exists already, and is not overwritten: give another name`)
  const making = `${file}.${randomUUID().slice(0, 8)}.part`
  const refused = (error: unknown) =>
    new BackupRefused(`${file} can't be written: ${whyRefused(error)}`, { cause: error })
  const handle = await open(making, 'wx', 0o600).catch((error: unknown) => {
    throw refused(error)
  })
  try {
    let bytes = 0
    const known: KnownKeys = new Map()
    try {
      for await (const piece of seal(passphrase, records, known)) {
        signal.throwIfAborted()
        await handle.writeFile(piece)
        bytes += piece.length
      }
      await handle.sync()
    } finally {
      await handle.close()
    }
    const contents = await check(making, passphrase, known)
    signal.throwIfAborted()
    // `link` fails if a file of that name exists, even one that was created during the backup.
    await link(making, file)
    await syncFolder(path.dirname(file))
    return { contents, bytes }
  } catch (error) {
    throw error instanceof Error && 'syscall' in error && !(error instanceof Refusal)
      ? refused(error)
      : error
  } finally {
    await unlink(making).catch(() => undefined)
  }
}
