import 'reflect-metadata'
import { createHash, createPrivateKey, randomBytes, webcrypto, X509Certificate as NodeCertificate, type KeyObject } from 'node:crypto'
import { isIP } from 'node:net'
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  cryptoProvider,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  type Extension,
  KeyUsageFlags,
  KeyUsagesExtension,
  Pkcs10CertificateRequest,
  Pkcs10CertificateRequestGenerator,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509'
import type { Pair } from '../config/node-config.ts'

type CryptoKey = webcrypto.CryptoKey

cryptoProvider.set(webcrypto)

const HOUR = 3_600_000
const ED25519 = { name: 'Ed25519' }
const P256 = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }

/** A certificate with its key, as PEM, as `tls` takes them. */
export interface ServerIdentity {
  crt: string
  key: string
  /** Base64 of SHA-256 over the leaf's SubjectPublicKeyInfo: what talosctl calls the certificate fingerprint. */
  fingerprint: string
}

/** Talos labels PKCS#8 Ed25519 keys `ED25519 PRIVATE KEY`, which OpenSSL doesn't know. */
const readableKey = (pem: string): string => pem.replaceAll('ED25519 PRIVATE KEY', 'PRIVATE KEY')

export const fingerprintOf = (pem: string): string =>
  createHash('sha256')
    .update(new NodeCertificate(pem).publicKey.export({ type: 'spki', format: 'der' }))
    .digest('base64')

const serial = (): string => {
  const bytes = randomBytes(16)
  bytes[0] = (bytes[0]! & 0x7f) | 0x01
  return bytes.toString('hex')
}

const alternatives = (names: readonly string[]): SubjectAlternativeNameExtension =>
  new SubjectAlternativeNameExtension([...new Set(names)].filter((name) => name !== '').map((value) => ({ type: isIP(value) ? 'ip' : 'dns', value })))

const exportKey = async (key: CryptoKey): Promise<string> => {
  const der = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', key))
  return `-----BEGIN PRIVATE KEY-----\n${der.toString('base64').replaceAll(/.{64}/g, '$&\n').trimEnd()}\n-----END PRIVATE KEY-----\n`
}

const makeKeys = async (algorithm: typeof ED25519 | typeof P256): Promise<webcrypto.CryptoKeyPair> =>
  (await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])) as webcrypto.CryptoKeyPair

interface Authority {
  certificate: X509Certificate
  key: CryptoKey
  algorithm: typeof ED25519 | typeof P256
}

const authorities = new WeakMap<Pair, Promise<Authority>>()

/** Throws if the pair has no key, doesn't parse, or uses an algorithm that Talos doesn't. */
const authorityOf = (pair: Pair): Promise<Authority> => {
  let found = authorities.get(pair)
  if (!found) authorities.set(pair, (found = openAuthority(pair)))
  return found
}

const openAuthority = async (pair: Pair): Promise<Authority> => {
  if (pair.key === null) throw new Error('the certificate authority has no key here')
  const key = createPrivateKey(readableKey(pair.key))
  const algorithm = algorithmOf(key)
  return { certificate: new X509Certificate(pair.crt), key: key.toCryptoKey(algorithm, false, ['sign']), algorithm }
}

const algorithmOf = (key: KeyObject): typeof ED25519 | typeof P256 => {
  if (key.asymmetricKeyType === 'ed25519') return ED25519
  if (key.asymmetricKeyType === 'ec' && key.asymmetricKeyDetails?.namedCurve === 'prime256v1') return P256
  throw new Error(`a certificate authority of type ${key.asymmetricKeyType} isn't one of Talos's`)
}

export interface Leaf {
  commonName: string
  organizations?: readonly string[]
  names?: readonly string[]
  usages: readonly ('serverAuth' | 'clientAuth')[]
  lifetimeMs: number
  now: number
}

const subjectOf = ({ commonName, organizations = [] }: Leaf): Record<string, string[]>[] => [
  ...organizations.map((organization) => ({ O: [organization] })),
  ...(commonName === '' ? [] : [{ CN: [commonName] }]),
]

/** Copies the authority's key id. Talos's ids are random, those of Go's library are a SHA-256, and OpenSSL refuses a leaf with another one. */
const keyIdOf = async (authority: X509Certificate): Promise<Extension> => {
  const own = authority.getExtension(SubjectKeyIdentifierExtension)
  return own ? new AuthorityKeyIdentifierExtension(own.keyId) : AuthorityKeyIdentifierExtension.create(authority.publicKey)
}

const sign = async (authority: Authority, publicKey: CryptoKey, leaf: Leaf): Promise<string> => {
  const extensions: Extension[] = [
    new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
    new ExtendedKeyUsageExtension(leaf.usages.map((usage) => ExtendedKeyUsage[usage])),
    new BasicConstraintsExtension(false, undefined, true),
    await keyIdOf(authority.certificate),
  ]
  if (leaf.names && leaf.names.length > 0) extensions.push(alternatives(leaf.names))
  const certificate = await X509CertificateGenerator.create({
    serialNumber: serial(),
    issuer: authority.certificate.subjectName.toJSON(),
    subject: subjectOf(leaf),
    notBefore: new Date(leaf.now - 10_000),
    notAfter: new Date(leaf.now + leaf.lifetimeMs),
    signingAlgorithm: authority.algorithm,
    signingKey: authority.key,
    publicKey,
    extensions,
  })
  return certificate.toString('pem')
}

/** Generates a key pair with a certificate of this authority. */
export const issue = async (ca: Pair, leaf: Leaf): Promise<ServerIdentity> => {
  const authority = await authorityOf(ca)
  const keys = await makeKeys(authority.algorithm)
  const crt = await sign(authority, keys.publicKey, leaf)
  return { crt, key: await exportKey(keys.privateKey), fingerprint: fingerprintOf(crt) }
}

/** The certificate request of a worker to trustd. */
export const createRequest = async (names: readonly string[]): Promise<{ csr: string; key: string }> => {
  const keys = await makeKeys(ED25519)
  const request = await Pkcs10CertificateRequestGenerator.create({ name: '', keys, signingAlgorithm: ED25519, extensions: [alternatives(names)] })
  return { csr: request.toString('pem'), key: await exportKey(keys.privateKey) }
}

/** Signs a worker's request as a server certificate. Throws if the request doesn't parse or its signature is wrong. */
export const signRequest = async (ca: Pair, csr: string, now: number): Promise<string> => {
  const request = new Pkcs10CertificateRequest(csr)
  if (!(await request.verify())) throw new Error('the certificate request has a wrong signature')
  const asked = request.extensions.find((extension) => extension instanceof SubjectAlternativeNameExtension)
  const names = asked?.names.items.map((name) => name.value) ?? []
  const authority = await authorityOf(ca)
  return sign(authority, await request.publicKey.export(ED25519, ['verify']), { commonName: '', names, usages: ['serverAuth'], lifetimeMs: 24 * HOUR, now })
}
