/** ETag and gzip of texts that are kept in memory. Both are computed once for each text, and kept as long as the text. */
import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { constants, gzip } from 'node:zlib'

/** In bytes; a shorter text fits into a few packets anyway. */
export const worthPacking = 16_384

const pack = promisify(gzip)
const tags = new WeakMap<Uint8Array, string>()
const packs = new WeakMap<Uint8Array, Promise<Buffer>>()

/** Weak, because the packed text has the same tag. */
export function tagOf(text: Uint8Array): string {
  const known = tags.get(text)
  if (known) return known
  const tag = `W/"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"`
  tags.set(text, tag)
  return tag
}

/** Compresses by gzip on another thread, at the fastest level, because a list of servers changes every few seconds. */
export function packed(text: Uint8Array): Promise<Buffer> {
  const known = packs.get(text)
  if (known) return known
  const made = pack(text, { level: constants.Z_BEST_SPEED })
  packs.set(text, made)
  return made
}
