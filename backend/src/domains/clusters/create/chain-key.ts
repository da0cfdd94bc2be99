/**
 * The key pair of a cluster (secp256k1). A cluster is sold by an offer, and software in the cluster signs for this offer with the private key. The
 * private key is stored encrypted and sent only into the cluster; the address is public.
 */
import { randomBytes } from 'node:crypto'

export interface ChainKey {
  /** 32 bytes; the caller zeroes them after sealing. */
  readonly privateKey: Uint8Array
  /** 0x and 40 hex digits, upper and lower case by EIP-55. */
  readonly address: string
}

/** Loaded at the first use, because they take 10 MB. */
const curves = () => import('@noble/curves/secp256k1.js')
const hashes = () => import('@noble/hashes/sha3.js')

/** Generates a key pair. */
export async function makeChainKey(): Promise<ChainKey> {
  const { secp256k1 } = await curves()
  // 48 bytes reduced modulo the order have a bias below 2^-128 (FIPS 186-5, A.2.1).
  const privateKey = secp256k1.utils.randomSecretKey(randomBytes(48))
  return { privateKey, address: await addressOf(privateKey) }
}

/** The address of a private key: the last 20 bytes of Keccak-256 over the uncompressed public key without its first byte. */
export async function addressOf(privateKey: Uint8Array): Promise<string> {
  const [{ secp256k1 }, { keccak_256 }] = await Promise.all([curves(), hashes()])
  const publicKey = secp256k1.getPublicKey(privateKey, false)
  return checksummed(Buffer.from(keccak_256(publicKey.subarray(1)).subarray(-20)).toString('hex'))
}

/** EIP-55: a hex letter is upper case if the hash of the lower-case text has a digit of 8 or more at the letter's position. */
export async function checksummed(hex: string): Promise<string> {
  const { keccak_256 } = await hashes()
  const lower = hex.replace(/^0x/i, '').toLowerCase()
  const hash = Buffer.from(keccak_256(new TextEncoder().encode(lower))).toString('hex')
  return `0x${lower.replaceAll(/./g, (digit, i: number) => (Number.parseInt(hash[i]!, 16) >= 8 ? digit.toUpperCase() : digit))}`
}
