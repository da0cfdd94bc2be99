import { randomUUID } from 'node:crypto'
import { open, rename, rm } from 'node:fs/promises'
import { CliError } from '../exit.ts'

const reasons: Readonly<Record<string, string>> = {
  ENOSPC: 'no space is left on the device',
  EDQUOT: 'your quota is used up',
  EROFS: 'the file system is read-only',
  EACCES: 'you may not write there',
}

/**
 * Writes a file that only this user can read, atomically: writes and flushes a temporary file, then
 * renames it. Throws CliError; then the file is unchanged.
 */
export async function replaceFile(path: string, text: string): Promise<void> {
  const aside = `${path}.${randomUUID()}`
  try {
    const file = await open(aside, 'wx', 0o600)
    try {
      await file.writeFile(text)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(aside, path)
  } catch (cause) {
    await rm(aside, { force: true }).catch(() => undefined)
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
    throw new CliError(
      'failure',
      `${path} can't be written: ${reasons[code] ?? (cause instanceof Error ? cause.message : String(cause))}`,
      { cause },
    )
  }
}
