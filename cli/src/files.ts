import { open, readFile, rm } from 'node:fs/promises'
import { CliError } from './exit.ts'
import { oneLine } from './text.ts'

/** Reads a file that the user named; `/dev/stdin` is standard input. Throws CliError. */
export const readText = (path: string): Promise<string> =>
  readFile(path, 'utf8').catch((cause: unknown) => {
    throw new CliError('failure', `${oneLine(path)} cannot be read`, { cause })
  })

/**
 * Writes credentials to a file that only this user can read. If the file exists: throws CliError, or with `replace` deletes the file and creates it again,
 * because other users may be able to read the old file.
 */
export async function writeSecretFile(path: string, text: string, replace: boolean): Promise<void> {
  try {
    if (replace) await rm(path, { force: true })
    const file = await open(path, 'wx', 0o600)
    await file.writeFile(text)
    await file.close()
  } catch (e) {
    if (e instanceof Error && 'code' in e && e.code === 'EEXIST') throw new CliError('conflict', `${oneLine(path)} exists`, { hint: 'Replace it with --force' })
    throw new CliError('failure', `${oneLine(path)} can't be written: ${e instanceof Error ? e.message : String(e)}`)
  }
}
