import { open, readFile, rm } from 'node:fs/promises'
import { CliError } from './exit.ts'
import { oneLine } from './text.ts'

/** Reads a file that the user named; `/dev/stdin` is standard input. Throws CliError. */
export const readText = (path: string): Promise<string> =>
  readFile(path, 'utf8').catch((cause: unknown) => {
    throw new CliError('failure', `${oneLine(path)} cannot be read`, { cause })
  })

/**
 * Writes credentials to a file that only this user can read. Keeps an existing file unless `replace` is set. With `replace` it is deleted and created again,
 * because others may be able to read it.
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
