/**
 * The key pair of a cluster (secp256k1). A cluster is sold by an offer, and software in the cluster
 * signs for this offer with the private key. The private key is stored encrypted and sent only into
 * the cluster; the address is public.
 */
import { randomBytes } from 'node:crypto'
import { addressOf, curves } from '../../../chain-address.ts'

export interface ChainKey {
  /** 32 bytes; the caller zeroes them after sealing. */
  readonly privateKey: Uint8Array
  /** 0x and 40 hex digits, upper and lower case by EIP-55. */
  readonly address: string
}

/** Generates a key pair. */
export async function makeChainKey(): Promise<ChainKey> {
  const { secp256k1 } = await curves()
  // 48 bytes reduced modulo the order have a bias below 2^-128 (FIPS 186-5, A.2.1).
  const privateKey = secp256k1.utils.randomSecretKey(randomBytes(48))
  return { privateKey, address: await addressOf(privateKey) }
}
