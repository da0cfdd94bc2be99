import { gunzipSync } from 'node:zlib'
import { TalosError } from './errors.ts'

const maxBytes = 1024 * 1024

/**
 * Extracts the file from Talos's Kubeconfig answer, a gzipped tar with one entry. Talos doesn't close the tar, so padding and end are missing and strict
 * readers refuse it; therefore the header is parsed here. Throws TalosError.
 */
export function unpackKubeconfig(archive: Uint8Array): string {
  const broken = (why: string, cause?: unknown) => new TalosError('invalid_data', `server sent invalid data (kubeconfig: ${why})`, { cause })
  let tar: Buffer
  try {
    tar = gunzipSync(archive, { maxOutputLength: maxBytes })
  } catch (error) {
    throw broken('not a gzip file', error)
  }
  const header = 512
  if (tar.length < header) throw broken('shorter than its header')
  // POSIX ustar: the size is octal text of 12 bytes at offset 124.
  const size = Number.parseInt(tar.toString('latin1', 124, 136).replace(/\0.*$/s, '').trim(), 8)
  if (!Number.isSafeInteger(size) || size < 0 || tar.length < header + size) throw broken('shorter than it says')
  return tar.toString('utf8', header, header + size)
}
