import { randomUUID } from 'node:crypto'
import { open, readFile, rename, rm } from 'node:fs/promises'
import { CliError } from './exit.ts'
import { oneLine } from './text.ts'

/** Reads a file that the user named; `/dev/stdin` is standard input. Throws CliError. */
export const readText = (path: string): Promise<string> =>
  readFile(path, 'utf8').catch((cause: unknown) => {
    throw new CliError('failure', `${oneLine(path)} cannot be read`, { cause })
  })

/** Options of commands that write a file with `writeSecretFile`. */
export const fileOptions = {
  output: {
    kind: 'text',
    value: 'FILE',
    help: 'Write the output to a file that only you can read, instead of to standard output',
  },
  force: { kind: 'flag', help: 'Replace the file if it exists' },
} as const

/**
 * Writes a text, or its parts, to a file that only this user can read. If the file exists: throws
 * CliError, or with `replace` puts a new file in its place, because other users may be able to read
 * the old file. If the text isn't complete, no file is left, and an old one stays.
 */
export async function writeSecretFile(
  path: string,
  text: string | AsyncIterable<string | Uint8Array>,
  replace: boolean,
): Promise<void> {
  const target = replace ? `${path}.${randomUUID()}` : path
  try {
    const file = await open(target, 'wx', 0o600)
    try {
      await file.writeFile(text)
      await file.close()
      if (replace) await rename(target, path)
    } catch (e) {
      await file.close().catch(() => undefined)
      await rm(target, { force: true })
      throw e
    }
  } catch (e) {
    if (e instanceof CliError) throw e
    if (e instanceof Error && 'code' in e && e.code === 'EEXIST')
      throw new CliError('conflict', `${oneLine(path)} exists`, { hint: 'Replace it with --force' })
    throw new CliError(
      'failure',
      `${oneLine(path)} can't be written: ${e instanceof Error ? e.message : String(e)}`,
    )
  }
}
