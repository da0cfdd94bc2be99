/** The files of a backup: the key file, and the escrow files (the clusters' encrypted secrets). */
import { createHash } from 'node:crypto'
import { link, readdir, readFile, unlink } from 'node:fs/promises'
import path from 'node:path'
import type { Config } from '../config.ts'
import { whyRefused } from '../refusal.ts'
import { parseKeys } from '../vault/key-file.ts'
import { syncFolder, writeDurably } from '../vault/durable.ts'
import type { FilePart } from './records.ts'
import { BackupRefused } from './sealed.ts'

export type SavedFile = Pick<FilePart, 'kind' | 'name'> & { readonly bytes: Buffer }

const escrowFolderOf = (config: Pick<Config, 'dataFolder'>): string =>
  path.join(config.dataFolder, 'escrow')
/**
 * Escrow files are named `<cluster id>.bin`. Files with other names are neither read nor written,
 * so that no name can be a path to another folder.
 */
const isEscrowName = (name: string): boolean => /^[0-9a-f-]{36}\.bin$/.test(name)

/**
 * Escrow files never change after they are written, so reading them one after another gives a
 * consistent copy.
 */
export async function* readFiles(config: Config): AsyncGenerator<SavedFile> {
  yield { kind: 'key', name: 'key', bytes: await readFile(config.keyFile) }
  const folder = escrowFolderOf(config)
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw new BackupRefused(`The escrow folder ${folder} can't be read: ${whyRefused(error)}`)
  })
  for (const name of names.filter(isEscrowName).toSorted())
    yield { kind: 'escrow', name, bytes: await readFile(path.join(folder, name)) }
}

const targetOf = (config: Config, { kind, name }: Pick<SavedFile, 'kind' | 'name'>): string => {
  if (kind === 'key') return config.keyFile
  if (!isEscrowName(name))
    throw new BackupRefused(
      `The backup contains a file called ${JSON.stringify(name).slice(0, 80)}, which is none of Steelyard's`,
    )
  return path.join(escrowFolderOf(config), name)
}

/**
 * Whether a file of the backup has to be written; false if the same file exists already.
 * @throws BackupRefused if a different file exists, which is never overwritten
 */
export async function isMissing(config: Config, file: SavedFile): Promise<boolean> {
  const target = targetOf(config, file)
  const there = await readFile(target).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw new BackupRefused(`${target} can't be read: ${whyRefused(error)}`)
  })
  if (there === undefined) return true
  if (there.equals(file.bytes)) return false
  if (file.kind === 'escrow')
    throw new BackupRefused(
      `Another escrow file of the same cluster exists at ${target}: move it away, or set STEELYARD_DATA to another folder`,
    )
  const held = parseKeys(there.toString('utf8'), target)
  const needed = parseKeys(file.bytes.toString('utf8'), 'The key file of the backup')
  // An existing key file is kept if it has all keys of the backup, even if it also has newer ones.
  if (needed.ids.every((id) => held.get(id))) return false
  throw new BackupRefused(
    `Another key file exists at ${target}: move it away, or set STEELYARD_KEY_FILE to a place where there is none`,
  )
}

/**
 * Creates files atomically and flushes them to disk; never replaces existing files. Returns a
 * function that removes the created files.
 */
export async function putFiles(
  config: Config,
  files: readonly SavedFile[],
): Promise<() => Promise<void>> {
  const placed: string[] = []
  let place = ''
  const undo = async () => {
    for (const file of placed) await unlink(file).catch(() => undefined)
  }
  try {
    for (const file of files) {
      const target = targetOf(config, file)
      place =
        file.kind === 'key'
          ? `the key file, ${target}: let this account write to its folder, or set STEELYARD_KEY_FILE to another place`
          : `an escrow file, ${target}: let this account write to its folder`
      const folder = path.dirname(target)
      const making = await writeDurably(
        folder,
        `${path.basename(target)}.${createHash('sha256').update(file.bytes).digest('hex').slice(0, 12)}`,
        file.bytes,
      )
      try {
        await link(making, target)
        placed.push(target)
      } finally {
        await unlink(making)
      }
      await syncFolder(folder)
    }
    return undo
  } catch (error) {
    await undo()
    throw new BackupRefused(
      `A file of the backup can't be written (${whyRefused(error)}), ${place}`,
      { cause: error },
    )
  }
}
