import { mkdir, open, rename, unlink } from 'node:fs/promises'
import path from 'node:path'

/**
 * Writes a file so that after a crash it exists completely or not at all: writes and syncs a new
 * file, renames it, and syncs the folder. Mode 0600 in a 0700 folder. Returns the file's path.
 */
export async function writeDurably(
  folder: string,
  name: string,
  bytes: Uint8Array,
): Promise<string> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const target = path.join(folder, name)
  const making = `${target}.new`
  const file = await open(making, 'w', 0o600)
  try {
    await file.writeFile(bytes)
    await file.sync()
    await file.close()
    await rename(making, target)
  } catch (error) {
    await file.close().catch(() => undefined)
    await unlink(making).catch(() => undefined)
    throw error
  }
  await syncFolder(folder)
  return target
}

/** Syncs a folder, so that links, renames and removals in it survive a crash. */
export async function syncFolder(folder: string): Promise<void> {
  const directory = await open(folder, 'r')
  try {
    await directory.sync()
  } finally {
    await directory.close()
  }
}
