import { isUtf8 } from 'node:buffer'
import { randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { CliError } from './exit.ts'
import { oneLine } from './text.ts'

/**
 * The text of a file's bytes: UTF-8, or UTF-16 with a byte order mark, as Windows PowerShell writes
 * it. @throws CliError
 */
export function textIn(path: string, bytes: Uint8Array): string {
  const [first, second] = bytes
  const encoding =
    first === 0xff && second === 0xfe
      ? 'utf-16le'
      : first === 0xfe && second === 0xff
        ? 'utf-16be'
        : 'utf-8'
  try {
    return new TextDecoder(encoding, { fatal: true, ignoreBOM: false }).decode(bytes)
  } catch (cause) {
    throw new CliError('usage', `${oneLine(path)} is not UTF-8 text${placeIn(bytes)}`, {
      cause,
      hint: 'Save it as UTF-8, or convert it: iconv -f latin2 -t utf-8',
    })
  }
}

/** Line and byte, both from 1, at which a text stops being UTF-8. */
function placeIn(bytes: Uint8Array): string {
  let line = 1
  for (let from = 0; from < bytes.length; line++) {
    const end = bytes.indexOf(10, from)
    const piece = bytes.subarray(from, end === -1 ? bytes.length : end)
    if (!isUtf8(piece)) {
      const at = from + firstWrong(piece)
      const hex = bytes[at]!.toString(16).toUpperCase()
      return `: see line ${line}, byte ${at + 1} of the file (0x${hex})`
    }
    if (end === -1) break
    from = end + 1
  }
  return ''
}

/** Index of the first byte that begins no character (RFC 3629 §3 has the lengths). */
function firstWrong(piece: Uint8Array): number {
  for (let at = 0; at < piece.length;) {
    const byte = piece[at]!
    const length = byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4
    if (length > 1 && !isUtf8(piece.subarray(at, at + length))) return at
    at += length
  }
  return piece.length
}

/**
 * Reads the bytes of a file that the user named; `-` and `/dev/stdin` are standard input. Opening
 * `/dev/stdin` would fail if a program has connected it to a socket, as Node does (open(2), ENXIO).
 * @param most the reading stops beyond this number of bytes, because the size of a pipe isn't known
 */
export async function readBytes(path: string, most = Infinity): Promise<Buffer> {
  const isStandard = path === '-' || path === '/dev/stdin'
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of isStandard ? process.stdin : createReadStream(path)) {
    chunks.push(chunk as Buffer)
    bytes += (chunk as Buffer).length
    if (bytes > most) break
  }
  return Buffer.concat(chunks)
}

/** Reads a text that the user named; `-` is standard input. Throws CliError. */
export const readText = async (path: string): Promise<string> =>
  textIn(
    path === '-' ? 'Standard input' : path,
    await readBytes(path).catch((cause: unknown) => {
      throw new CliError('failure', `${oneLine(path)} cannot be read`, { cause })
    }),
  )

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
