import 'reflect-metadata'
import { createHash, webcrypto, X509Certificate as NodeCertificate } from 'node:crypto'
import { isIP } from 'node:net'
import * as x509 from '@peculiar/x509'
import { authorityKeyId, nameOf, serialNumber } from '#talos/pki/certificates.ts'
import { generateKey, signingKeys, standardKey } from '#talos/pki/keys.ts'
import type { Pair } from '../config/node-config.ts'

x509.cryptoProvider.set(webcrypto)

const HOUR = 3_600_000
const ED25519 = { name: 'Ed25519' }

/** A certificate with its key, as PEM (the form that `tls` accepts), and the value that talosctl calls the certificate fingerprint. */
export type ServerIdentity = Awaited<ReturnType<typeof issue>>

/** Base64 of SHA-256 over the leaf's SubjectPublicKeyInfo. */
export const fingerprintOf = (pem: string): string =>
  createHash('sha256')
    .update(new NodeCertificate(pem).publicKey.export({ type: 'spki', format: 'der' }))
    .digest('base64')

const alternatives = (names: readonly string[]): x509.SubjectAlternativeNameExtension =>
  new x509.SubjectAlternativeNameExtension([...new Set(names)].filter((name) => name !== '').map((value) => ({ type: isIP(value) ? 'ip' : 'dns', value })))

const authorities = new WeakMap<Pair, ReturnType<typeof openAuthority>>()

const openAuthority = (pair: Pair) => {
  if (pair.key === null) throw new Error('the certificate authority has no key here')
  return { certificate: new x509.X509Certificate(pair.crt), ...signingKeys(pair.key) }
}
type Authority = ReturnType<typeof openAuthority>

/** Throws if the pair has no key, doesn't parse, or uses an algorithm that Talos doesn't use. */
const authorityOf = (pair: Pair): Authority => {
  let found = authorities.get(pair)
  if (!found) authorities.set(pair, (found = openAuthority(pair)))
  return found
}

export interface Leaf {
  commonName: string
  organizations?: readonly string[]
  names?: readonly string[]
  usages: readonly ('serverAuth' | 'clientAuth')[]
  lifetimeMs: number
  now: number
}

const sign = async (authority: Authority, publicKey: webcrypto.CryptoKey, leaf: Leaf): Promise<string> => {
  const extensions: x509.Extension[] = [
    new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
    new x509.ExtendedKeyUsageExtension(leaf.usages.map((usage) => x509.ExtendedKeyUsage[usage])),
    new x509.BasicConstraintsExtension(false, undefined, true),
    await authorityKeyId(authority.certificate),
  ]
  if (leaf.names && leaf.names.length > 0) extensions.push(alternatives(leaf.names))
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: serialNumber(),
    issuer: authority.certificate.subjectName.toJSON(),
    subject: nameOf({ commonName: leaf.commonName || undefined, organizations: leaf.organizations }),
    notBefore: new Date(leaf.now - 10_000),
    notAfter: new Date(leaf.now + leaf.lifetimeMs),
    signingAlgorithm: authority.algorithm,
    signingKey: authority.privateKey,
    publicKey,
    extensions,
  })
  return certificate.toString('pem')
}

/** Generates a key pair with a certificate of this authority. */
export const issue = async (ca: Pair, leaf: Leaf) => {
  const authority = authorityOf(ca)
  const key = standardKey(await generateKey(authority.algorithm.name === ED25519.name ? 'ed25519' : 'p256'))
  const crt = await sign(authority, signingKeys(key).publicKey, leaf)
  return { crt, key, fingerprint: fingerprintOf(crt) }
}

/** The certificate request of a worker to trustd. */
export const createRequest = async (names: readonly string[]): Promise<{ csr: string; key: string }> => {
  const key = standardKey(await generateKey('ed25519'))
  const request = await x509.Pkcs10CertificateRequestGenerator.create({
    name: '',
    keys: signingKeys(key),
    signingAlgorithm: ED25519,
    extensions: [alternatives(names)],
  })
  return { csr: request.toString('pem'), key }
}

/** Signs a worker's request as a server certificate. Throws if the request doesn't parse or its signature is wrong. */
export const signRequest = async (ca: Pair, csr: string, now: number): Promise<string> => {
  const request = new x509.Pkcs10CertificateRequest(csr)
  if (!(await request.verify())) throw new Error('the certificate request has a wrong signature')
  const asked = request.extensions.find((extension) => extension instanceof x509.SubjectAlternativeNameExtension)
  const names = asked?.names.items.map((name) => name.value) ?? []
  const authority = authorityOf(ca)
  return sign(authority, await request.publicKey.export(ED25519, ['verify']), { commonName: '', names, usages: ['serverAuth'], lifetimeMs: 24 * HOUR, now })
}
