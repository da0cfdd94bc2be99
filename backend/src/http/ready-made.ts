/** What a text that is kept ready is sent with: its ETag, and packed for who takes it so. Both are made once for each text and are kept as long as it is. */
import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { constants, gzip } from 'node:zlib'

/** Bytes; less goes out in a few packets as it is. */
export const worthPacking = 16_384

const pack = promisify(gzip)
const tags = new WeakMap<Uint8Array, string>()
const packs = new WeakMap<Uint8Array, Promise<Buffer>>()

/** Weak: the same text packed has the same one. */
export function tagOf(text: Uint8Array): string {
  const known = tags.get(text)
  if (known) return known
  const tag = `W/"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"`
  tags.set(text, tag)
  return tag
}

/** By gzip, on a thread beside; at the level that is fastest, because a list of servers changes every few seconds. */
export function packed(text: Uint8Array): Promise<Buffer> {
  const known = packs.get(text)
  if (known) return known
  const made = pack(text, { level: constants.Z_BEST_SPEED })
  packs.set(text, made)
  return made
}
