/** Reads the file that Talos answers with to the call Kubeconfig. */
import { gunzipSync } from 'node:zlib'
import { TalosError } from './errors.ts'

/** Talos's own kubeconfigs have some 10 KiB. */
const kubeconfigMaxBytes = 256 * 1024

/**
 * Extracts the file from Talos's Kubeconfig response, a gzipped tar with one entry. Talos doesn't
 * close the tar, so the padding and the end marker are missing, and strict readers refuse the
 * archive; therefore the header is parsed here. Throws TalosError.
 */
export function unpackKubeconfig(archive: Uint8Array): string {
  const broken = (why: string, cause?: unknown) =>
    new TalosError('invalid_data', `server sent invalid data (kubeconfig: ${why})`, { cause })
  let tar: Buffer
  try {
    tar = gunzipSync(archive, { maxOutputLength: kubeconfigMaxBytes })
  } catch (error) {
    throw broken('not a gzip file', error)
  }
  const header = 512
  if (tar.length < header) throw broken('shorter than its header')
  // POSIX ustar: the size is octal text of 12 bytes at offset 124.
  const size = Number.parseInt(tar.toString('latin1', 124, 136).replace(/\0.*$/s, '').trim(), 8)
  if (!Number.isSafeInteger(size) || size < 0 || tar.length < header + size)
    throw broken('shorter than it says')
  return tar.toString('utf8', header, header + size)
}
