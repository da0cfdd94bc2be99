/**
 * Codes of authenticator apps: TOTP (RFC 6238) with SHA-1, 6 digits and 30 s, because apps ignore
 * other parameters. Pure functions. A dozen lines of HMAC need no library; the test uses the
 * vectors of the RFC.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { totp } from '#contract/people/second-factor.ts'

/** Bits of a secret: as many as the hash has (RFC 4226, section 4, R6). */
export const secretBytes = 20
/**
 * Steps before and after the current one whose codes are accepted, because clocks differ and typing
 * takes time (RFC 6238, section 5.2).
 */
const tolerance = 1

export const stepAt = (ms: number): number => Math.floor(ms / 1000 / totp.periodSeconds)

/** The code of one time step (RFC 4226, section 5.3). */
export function codeAt(secret: Uint8Array, step: number): string {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(step))
  const mac = createHmac('sha1', secret).update(counter).digest()
  const number = mac.readUInt32BE(mac.at(-1)! & 0x0f) & 0x7fff_ffff
  return String(number % 10 ** totp.digits).padStart(totp.digits, '0')
}

/**
 * The time step to which a code belongs; undefined if it is not a code of this secret at about this
 * time. Always compares all accepted steps.
 */
export function stepOf(secret: Uint8Array, code: string, ms: number): number | undefined {
  const given = Buffer.from(code)
  const now = stepAt(ms)
  let found: number | undefined
  for (let step = now - tolerance; step <= now + tolerance; step++) {
    const right = Buffer.from(codeAt(secret, step))
    if (given.length === right.length && timingSafeEqual(given, right)) found = step
  }
  return found
}

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** Base32 without padding (RFC 4648, section 6), in which apps take secrets. */
export function base32(bytes: Uint8Array): string {
  let [text, bits, value] = ['', 0, 0]
  for (const byte of bytes) {
    value = (value << 8) | byte
    for (bits += 8; bits >= 5; bits -= 5) text += alphabet[(value >>> (bits - 5)) & 31]
    value &= 31
  }
  return bits === 0 ? text : text + alphabet[(value << (5 - bits)) & 31]
}

/**
 * The URI that apps read from a QR code
 * (github.com/google/google-authenticator/wiki/Key-Uri-Format).
 */
export function uriOf(
  secret: Uint8Array,
  { issuer, account }: { issuer: string; account: string },
): string {
  const label = `${encodeURIComponent(issuer)}:${encodeURIComponent(account)}`
  const parameters = {
    secret: base32(secret),
    issuer,
    algorithm: 'SHA1',
    digits: String(totp.digits),
    period: String(totp.periodSeconds),
  }
  return `otpauth://totp/${label}?${Object.entries(parameters)
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
    .join('&')}`
}
