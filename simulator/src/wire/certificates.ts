import 'reflect-metadata'
import {
  createHash,
  createPublicKey,
  generateKeyPairSync,
  webcrypto,
  X509Certificate as NodeCertificate,
} from 'node:crypto'
import { isIP } from 'node:net'
import * as x509 from '@peculiar/x509'
import { generateKey, readKey, signingKeys, standardKey } from '#talos/pki/keys.ts'
import type { Pair } from '../config/node-config.ts'
import { keyIdOf, type Leaf, type Signer, signLeaf } from './leaf.ts'

x509.cryptoProvider.set(webcrypto)

const HOUR = 3_600_000
const ED25519 = { name: 'Ed25519' }

/**
 * A certificate with its key, as PEM (the form that `tls` accepts), and the value that talosctl
 * calls the certificate fingerprint.
 */
export interface ServerIdentity {
  readonly crt: string
  readonly key: string
  readonly fingerprint: string
}

const fingerprint = (spki: Uint8Array): string => createHash('sha256').update(spki).digest('base64')

/** Base64 of SHA-256 over the leaf's SubjectPublicKeyInfo. */
export const fingerprintOf = (pem: string): string =>
  fingerprint(new NodeCertificate(pem).publicKey.export({ type: 'spki', format: 'der' }))

/** The authorities that have signed, by certificate and key. */
const authorities = new Map<string, Signer>()
const MOST_AUTHORITIES = 1000

/** Throws if the pair has no key, doesn't parse, or uses an algorithm that Talos doesn't use. */
const authorityOf = (pair: Pair): Signer => {
  if (pair.key === null) throw new Error('the certificate authority has no key here')
  const both = pair.crt + pair.key
  const known = authorities.get(both)
  if (known) return known
  const certificate = new x509.X509Certificate(pair.crt)
  const key = readKey(pair.key)
  // Throws for keys with which Talos signs no certificate.
  signingKeys(pair.key)
  const own = certificate.getExtension(x509.SubjectKeyIdentifierExtension)
  const found = {
    name: Buffer.from(certificate.subjectName.toArrayBuffer()),
    keyId: own ? Buffer.from(own.keyId, 'hex') : keyIdOf(createPublicKey(key)),
    key,
  }
  if (authorities.size >= MOST_AUTHORITIES) authorities.clear()
  authorities.set(both, found)
  return found
}

/**
 * A new key pair of a leaf: the public key as SPKI in DER, the private key as PEM, and the
 * fingerprint.
 */
export const leafKey = (kind: 'ed25519' | 'ec') => {
  const publicKeyEncoding = { type: 'spki', format: 'der' } as const
  const { publicKey, privateKey } =
    kind === 'ed25519'
      ? generateKeyPairSync('ed25519', {
          publicKeyEncoding,
          privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
        })
      : generateKeyPairSync('ec', {
          namedCurve: 'P-256',
          publicKeyEncoding,
          privateKeyEncoding: { type: 'sec1', format: 'pem' },
        })
  return { publicKey, key: privateKey, fingerprint: fingerprint(publicKey) }
}

/** Generates a key pair with a certificate of this authority. */
export const issue = (ca: Pair, leaf: Leaf): ServerIdentity => {
  const authority = authorityOf(ca)
  const { publicKey, ...own } = leafKey(
    authority.key.asymmetricKeyType === 'ed25519' ? 'ed25519' : 'ec',
  )
  return { crt: signLeaf(authority, publicKey, leaf), ...own }
}

const alternatives = (names: readonly string[]): x509.SubjectAlternativeNameExtension =>
  new x509.SubjectAlternativeNameExtension(
    [...new Set(names)]
      .filter((name) => name !== '')
      .map((value) => ({ type: isIP(value) ? 'ip' : 'dns', value })),
  )

/** The certificate request of a worker to trustd. */
export const createRequest = async (
  names: readonly string[],
): Promise<{ csr: string; key: string }> => {
  const key = standardKey(await generateKey('ed25519'))
  const request = await x509.Pkcs10CertificateRequestGenerator.create({
    name: '',
    keys: signingKeys(key),
    signingAlgorithm: ED25519,
    extensions: [alternatives(names)],
  })
  return { csr: request.toString('pem'), key }
}

/**
 * Signs a worker's request as a server certificate. Throws if the request doesn't parse or its
 * signature is wrong.
 */
export const signRequest = async (ca: Pair, csr: string, now: number): Promise<string> => {
  const request = new x509.Pkcs10CertificateRequest(csr)
  if (!(await request.verify())) throw new Error('the certificate request has a wrong signature')
  const asked = request.extensions.find(
    (extension) => extension instanceof x509.SubjectAlternativeNameExtension,
  )
  const names = asked?.names.items.map((name) => name.value) ?? []
  return signLeaf(authorityOf(ca), Buffer.from(request.publicKey.rawData), {
    commonName: '',
    names,
    usages: ['serverAuth'],
    lifetimeMs: 24 * HOUR,
    now,
  })
}
