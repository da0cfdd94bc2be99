/**
 * AES-256-GCM (NIST SP 800-38D) with a random 96-bit nonce. The additional data names where the
 * text is stored. Format: nonce (12) | tag (16) | text
 */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { Told } from '../causes/told.ts'

export class SealBroken extends Told {
  override readonly name = 'SealBroken'
}

const nonceBytes = 12
const tagBytes = 16
/** Number of bytes that encryption adds. */
export const overheadBytes = nonceBytes + tagBytes

export function encrypt(key: Uint8Array, bytes: Uint8Array, context: string): Buffer {
  const nonce = randomBytes(nonceBytes)
  const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: tagBytes })
  cipher.setAAD(Buffer.from(context))
  const text = Buffer.concat([cipher.update(bytes), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), text])
}

/** @throws SealBroken if the text was changed, or was encrypted with another key or context */
export function decrypt(key: Uint8Array, sealed: Uint8Array, context: string): Buffer {
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, nonceBytes), {
      authTagLength: tagBytes,
    })
    decipher.setAAD(Buffer.from(context))
    decipher.setAuthTag(sealed.subarray(nonceBytes, overheadBytes))
    return Buffer.concat([decipher.update(sealed.subarray(overheadBytes)), decipher.final()])
  } catch (cause) {
    throw new SealBroken(
      'An encrypted value cannot be decrypted: it was changed, or it belongs to another record',
      { cause },
    )
  }
}
