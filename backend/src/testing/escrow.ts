/** Opens an escrow file as an operator does without Steelyard (`docs/open-escrow.mjs`). */
import { decrypt, SealBroken } from '../vault/cipher.ts'
import type { KeyRing } from '../vault/key-file.ts'

/** @throws SealBroken if the file was changed or the key file lacks the file's key */
export function openEscrow(keys: KeyRing, text: Uint8Array): { cluster: string; bytes: Buffer } {
  const file = JSON.parse(Buffer.from(text).toString('utf8')) as Record<
    'cluster' | 'wrapping_key' | 'wrapped' | 'sealed',
    string
  >
  const wrapping = keys.get(file.wrapping_key)
  if (!wrapping) throw new SealBroken(`The key file has no key ${file.wrapping_key}`)
  const key = decrypt(wrapping, Buffer.from(file.wrapped, 'base64'), `escrow key|${file.cluster}`)
  return {
    cluster: file.cluster,
    bytes: decrypt(key, Buffer.from(file.sealed, 'base64'), `escrow|${file.cluster}`),
  }
}
