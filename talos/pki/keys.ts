import { createPrivateKey, createPublicKey, generateKeyPair, type KeyObject } from 'node:crypto'
import { promisify } from 'node:util'

/** A certificate and its private key, both PEM. */
export interface KeyPair {
  crt: string
  key: string
}

/** PEM in base64, as in Talos's files. */
export const encodePem = (pem: string): string => Buffer.from(pem).toString('base64')

/** A certificate and key, both in base64. */
export const encodePair = ({ crt, key }: KeyPair): KeyPair => ({
  crt: encodePem(crt),
  key: encodePem(key),
})

/**
 * The three kinds of keys that Talos uses: Ed25519 for its own API, ECDSA P-256 for Kubernetes and
 * etcd, RSA-4096 for service accounts (Talos `pkg/machinery/config/generate/secrets/ca.go`).
 */
export type KeyKind = 'ed25519' | 'p256' | 'rsa4096'

const generate = promisify(generateKeyPair)

/**
 * Generates a private key as PEM with Talos's label for its kind. RSA-4096 takes a second or more
 * on a worker thread.
 */
export async function generateKey(kind: KeyKind): Promise<string> {
  if (kind === 'ed25519') {
    const { privateKey } = await generate('ed25519', {})
    return relabel(privateKey.export({ type: 'pkcs8', format: 'pem' }), 'ED25519 PRIVATE KEY')
  }
  if (kind === 'p256') {
    const { privateKey } = await generate('ec', { namedCurve: 'prime256v1' })
    return privateKey.export({ type: 'sec1', format: 'pem' })
  }
  const { privateKey } = await generate('rsa', { modulusLength: 4096 })
  return privateKey.export({ type: 'pkcs1', format: 'pem' })
}

/** Parses a private key with any label that Talos writes. Throws an Error for anything else. */
export function readKey(pem: string): KeyObject {
  return createPrivateKey(standardKey(pem))
}

/**
 * Talos labels a PKCS#8 Ed25519 key `ED25519 PRIVATE KEY`; OpenSSL, and so Node.js, accepts only
 * `PRIVATE KEY`. All other text is returned unchanged.
 */
export function standardKey(pem: string): string {
  return pem.replaceAll('ED25519 PRIVATE KEY-----', 'PRIVATE KEY-----')
}

/**
 * The WebCrypto key pair and its signature algorithm. Throws for keys that Talos doesn't use for
 * signing.
 */
export function signingKeys(pem: string) {
  const key = readKey(pem)
  const kind = kindOf(key)
  if (kind === 'rsa4096') throw new Error('No certificate is signed with an RSA key here')
  const algorithm =
    kind === 'ed25519'
      ? { name: 'Ed25519' }
      : { name: 'ECDSA', hash: 'SHA-256', namedCurve: 'P-256' }
  return {
    privateKey: key.toCryptoKey(algorithm, true, ['sign']),
    publicKey: createPublicKey(key).toCryptoKey(algorithm, true, ['verify']),
    algorithm,
  }
}

/** Kind of a private key; throws for curves and sizes that Talos doesn't use. */
export function kindOf(key: KeyObject): KeyKind {
  if (key.asymmetricKeyType === 'ed25519') return 'ed25519'
  if (key.asymmetricKeyType === 'ec' && key.asymmetricKeyDetails?.namedCurve === 'prime256v1')
    return 'p256'
  if (key.asymmetricKeyType === 'rsa' && (key.asymmetricKeyDetails?.modulusLength ?? 0) >= 2048)
    return 'rsa4096'
  throw new Error(`Unsupported key: ${key.asymmetricKeyType}`)
}

function relabel(pem: string, label: string): string {
  return pem.replaceAll('PRIVATE KEY-----', `${label}-----`)
}
