/**
 * Addresses of secp256k1 keys in the format of Ethereum, and which addresses may have signed a
 * text.
 */
import { createHash } from 'node:crypto'
import { addressPattern } from '#contract/clusters/clusters.ts'

/** Loaded at the first use, because they take 10 MB. */
export const curves = () => import('@noble/curves/secp256k1.js')
const hashes = () => import('@noble/hashes/sha3.js')

/** The address of a private key. */
export async function addressOf(privateKey: Uint8Array): Promise<string> {
  const { secp256k1 } = await curves()
  return addressOfPublicKey(secp256k1.getPublicKey(privateKey, false))
}

/**
 * The last 20 bytes of Keccak-256 over the uncompressed public key without its first byte.
 * @param publicKey 65 bytes, uncompressed
 */
async function addressOfPublicKey(publicKey: Uint8Array): Promise<string> {
  const { keccak_256 } = await hashes()
  return checksummed(Buffer.from(keccak_256(publicKey.subarray(1)).subarray(-20)).toString('hex'))
}

/**
 * EIP-55: a hex letter is upper case if the hash of the lower-case text has a digit of 8 or more at
 * the letter's position.
 */
export async function checksummed(hex: string): Promise<string> {
  const { keccak_256 } = await hashes()
  const lower = hex.replace(/^0x/i, '').toLowerCase()
  const hash = Buffer.from(keccak_256(new TextEncoder().encode(lower))).toString('hex')
  return `0x${lower.replaceAll(/./g, (digit, i: number) => (Number.parseInt(hash[i]!, 16) >= 8 ? digit.toUpperCase() : digit))}`
}

/**
 * Whether the text is an address with a correct checksum. An address without checksum (only lower
 * or only upper case) is refused, like a mistyped one.
 */
export const isChecksummed = async (text: string): Promise<boolean> =>
  addressPattern.test(text) && (await checksummed(text)) === text

/** What Ethereum wallets sign for a text (EIP-191, version 0x45). */
async function walletDigest(text: string): Promise<Uint8Array> {
  const { keccak_256 } = await hashes()
  const bytes = Buffer.from(text)
  return keccak_256(
    Buffer.concat([Buffer.from(`\u0019Ethereum Signed Message:\n${bytes.length}`), bytes]),
  )
}

/**
 * The recovery ids that a signature of 65 bytes names by its last byte: 27 and 28, or 0 and 1
 * without Bitcoin's offset.
 */
const recoveryOf = (v: number): number[] =>
  [v >= 27 ? v - 27 : v].filter((id) => id === 0 || id === 1)

/**
 * Addresses of the keys that may have signed the text. Two kinds of signatures are accepted: of 65
 * bytes (r, s, v), as Ethereum wallets sign texts (EIP-191); and of 64 bytes (r, s), as ES256K
 * signs them (RFC 8812, SHA-256), which Node.js and OpenSSL can do by themselves. The second kind
 * doesn't say which of two keys has signed. A malformed signature gives no address. The caller must
 * accept a text only once, because (r, n − s) is a signature by the same key.
 */
export async function signersOf(text: string, signature: Uint8Array): Promise<string[]> {
  const isWallet = signature.length === 65
  if (!isWallet && signature.length !== 64) return []
  const { secp256k1 } = await curves()
  const digest = isWallet ? await walletDigest(text) : createHash('sha256').update(text).digest()
  // The recovery ids 2 and 3 stand for an r above the order of the curve, which has a probability
  // of 2^-127.
  const recoveries = isWallet ? recoveryOf(signature[64]!) : [0, 1]
  const keys = recoveries.flatMap((id) => {
    try {
      const recovered = secp256k1.Signature.fromBytes(
        Buffer.concat([Uint8Array.of(id), signature.subarray(0, 64)]),
        'recovered',
      )
      return [recovered.recoverPublicKey(digest).toBytes(false)]
    } catch {
      return []
    }
  })
  return Promise.all(keys.map(addressOfPublicKey))
}
