/**
 * Finds out whether a key opens the Secrets in a snapshot of etcd. An API server writes
 * `k8s:enc:PROVIDER:v1:NAME:` and the encrypted object (Kubernetes
 * `apiserver/pkg/storage/value/encrypt`). The first bytes of an object are known, so its beginning
 * is enough to recognise the key.
 */
import { createDecipheriv } from 'node:crypto'

/** The beginning of an encrypted Secret. */
export interface SecretSample {
  /** `secretbox` or `aescbc`; Talos has no other provider. */
  readonly provider: string
  /**
   * The first bytes after the prefix, base64: the nonce and the beginning of the encrypted object.
   */
  readonly bytes: string
}

const prefixPattern = /^k8s:enc:([a-z]+):v\d+:(?:[^:\n]{1,64}:)?/
const longestPrefix = 96
/** Bytes of the object that the sample contains: one block of AES. */
const shownBytes = 16
const nonceBytes = 24
const tagBytes = 16
const sampleBytes = nonceBytes + tagBytes + shownBytes

/** The sample of a stored value; undefined if it isn't encrypted. */
export function sampleOf(value: Buffer): SecretSample | undefined {
  const [prefix, provider] = prefixPattern.exec(value.toString('latin1', 0, longestPrefix)) ?? []
  if (prefix === undefined || provider === undefined) return undefined
  return { provider, bytes: value.toString('base64', prefix.length, prefix.length + sampleBytes) }
}

/** Objects are stored as protobuf, or as JSON (`--storage-media-type`). */
const isObject = (bytes: Buffer): boolean =>
  bytes.subarray(0, 4).equals(Buffer.from('k8s\0')) ||
  /^\{"[A-Za-z]{4,10}":/.test(bytes.toString('latin1'))

/**
 * Whether this key encrypted the Secret. @param key base64, 32 bytes for secretbox, and 16, 24 or
 * 32 for aescbc
 */
export function opens({ provider, bytes }: SecretSample, key: string): boolean {
  const [sample, secret] = [Buffer.from(bytes, 'base64'), Buffer.from(key, 'base64')]
  if (provider === 'secretbox')
    return (
      secret.length === 32 &&
      sample.length > nonceBytes + tagBytes + 4 &&
      isObject(unboxed(sample, secret))
    )
  if (provider !== 'aescbc' || ![16, 24, 32].includes(secret.length) || sample.length < 32)
    return false
  const cipher = createDecipheriv(
    `aes-${secret.length * 8}-cbc`,
    secret,
    sample.subarray(0, 16),
  ).setAutoPadding(false)
  return isObject(Buffer.concat([cipher.update(sample.subarray(16, 32)), cipher.final()]))
}

/**
 * The beginning of the object in a box: the message is combined with the stream behind the 32 bytes
 * that authenticate it ("Cryptography in NaCl", section 9).
 */
function unboxed(box: Buffer, key: Buffer): Buffer {
  const stream = boxStream(key, box.subarray(0, nonceBytes))
  return Buffer.from(box.subarray(nonceBytes + tagBytes).map((byte, i) => byte ^ stream[i]!))
}

/**
 * The first 32 bytes with which `crypto_secretbox` (XSalsa20-Poly1305) encrypts a message. Node has
 * no Salsa20. Only for recognising keys.
 */
export function boxStream(key: Uint8Array, nonce: Uint8Array): Uint8Array {
  const [k, n] = [words(key), words(nonce)]
  const mixed = rounds(state(k, n.slice(0, 4)))
  // HSalsa20 ("Extending the Salsa20 nonce", section 2).
  const subkey = [0, 5, 10, 15, 6, 7, 8, 9].map((i) => mixed[i]!)
  const input = state(subkey, [...n.slice(4, 6), 0, 0])
  const block = Uint32Array.from(rounds(input), (word, i) => word + input[i]!)
  const bytes = Buffer.alloc(64)
  block.forEach((word, i) => bytes.writeUInt32LE(word, i * 4))
  return bytes.subarray(32)
}

function words(bytes: Uint8Array): number[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return Array.from({ length: bytes.length / 4 }, (_, i) => view.getUint32(i * 4, true))
}

/** "expand 32-byte k" */
const [a, b, c, d] = words(Buffer.from('expand 32-byte k')) as [number, number, number, number]
const state = (k: readonly number[], n: readonly number[]): number[] => [
  a,
  ...k.slice(0, 4),
  b,
  ...n,
  c,
  ...k.slice(4),
  d,
]

/**
 * The quarter rounds of a double round: its columns, then its rows ("Salsa20 specification",
 * sections 3 to 6).
 */
const quarters = [
  [0, 4, 8, 12],
  [5, 9, 13, 1],
  [10, 14, 2, 6],
  [15, 3, 7, 11],
  [0, 1, 2, 3],
  [5, 6, 7, 4],
  [10, 11, 8, 9],
  [15, 12, 13, 14],
] as const

/** The 20 rounds of Salsa20, without the addition of the input. */
function rounds(input: readonly number[]): Uint32Array {
  const x = Uint32Array.from(input)
  const turn = (to: number, one: number, other: number, by: number): void => {
    const sum = (x[one]! + x[other]!) >>> 0
    x[to]! ^= (sum << by) | (sum >>> (32 - by))
  }
  for (let round = 0; round < 10; round++) {
    for (const [p, q, r, s] of quarters) {
      turn(q, p, s, 7)
      turn(r, q, p, 9)
      turn(s, r, q, 13)
      turn(p, s, r, 18)
    }
  }
  return x
}
