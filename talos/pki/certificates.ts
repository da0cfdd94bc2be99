/**
 * X.509 as Talos makes it: authorities, and certificates signed by them.
 * Every certificate made here passes `openssl verify -x509_strict`.
 */
import 'reflect-metadata'
import { randomBytes, type webcrypto } from 'node:crypto'
import { isIP } from 'node:net'
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  type Extension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  type JsonGeneralName,
  type JsonName,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509'
import { generateKey, type KeyKind, type KeyPair, signingKeys } from './keys.ts'

export interface Subject {
  commonName?: string | undefined
  organizations?: readonly string[] | undefined
}

/** Names that a server's certificate is good for. */
export interface AlternativeNames {
  dns?: readonly string[] | undefined
  addresses?: readonly string[] | undefined
}

const hourMs = 3_600_000
/** Talos: `CAValidityPeriod` is 10 years of 365 days. */
const authorityLifetimeMs = 87_600 * hourMs
/** A certificate begins earlier than now by this, so that a peer whose clock is behind takes it. */
const backdateMs = 5 * 60_000

/**
 * A self-signed authority with Talos's extensions (critical keyUsage digitalSignature and keyCertSign, both extended usages, a key identifier).
 * `key` takes a ready-made PEM key instead of a new one.
 */
export async function createAuthority(options: {
  kind: KeyKind
  subject: Subject
  now: Date
  lifetimeMs?: number
  key?: string | undefined
}): Promise<KeyPair> {
  const key = options.key ?? (await generateKey(options.kind))
  const { privateKey, publicKey, algorithm } = signingKeys(key)
  const certificate = await X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(),
    name: nameOf(options.subject),
    notBefore: new Date(options.now.getTime() - backdateMs),
    notAfter: new Date(options.now.getTime() + (options.lifetimeMs ?? authorityLifetimeMs)),
    signingAlgorithm: algorithm,
    keys: { privateKey, publicKey },
    extensions: [
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature | KeyUsageFlags.keyCertSign, true),
      new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth, ExtendedKeyUsage.clientAuth]),
      new BasicConstraintsExtension(true, undefined, true),
      await SubjectKeyIdentifierExtension.create(publicKey),
    ],
  })
  return { crt: pemOf(certificate), key }
}

export interface Issue {
  subject: Subject
  /** Extended key usages; a Talos server refuses a client certificate that is good for anything else than `client`. */
  usages: readonly ('server' | 'client')[]
  names?: AlternativeNames
  /** Kubernetes client certificates carry it, Talos's don't. */
  keyEncipherment?: boolean
  lifetimeMs: number
  now: Date
}

/** A certificate and a new key of the authority's kind, or of `kind`; `key` takes a ready-made one. */
export async function issueCertificate(authority: KeyPair, options: Issue & { kind?: KeyKind; key?: string }): Promise<KeyPair> {
  const kind = options.kind ?? (signingKeys(authority.key).algorithm.name === 'Ed25519' ? 'ed25519' : 'p256')
  const key = options.key ?? (await generateKey(kind))
  return { crt: await sign(authority, signingKeys(key).publicKey, options), key }
}

async function sign(authority: KeyPair, publicKey: webcrypto.CryptoKey, options: Issue): Promise<string> {
  const issuer = new X509Certificate(authority.crt)
  const signer = signingKeys(authority.key)
  const certificate = await X509CertificateGenerator.create({
    serialNumber: serialNumber(),
    subject: nameOf(options.subject),
    issuer: issuer.subjectName.toJSON(),
    notBefore: new Date(options.now.getTime() - backdateMs),
    notAfter: new Date(options.now.getTime() + options.lifetimeMs),
    publicKey,
    signingKey: signer.privateKey,
    signingAlgorithm: signer.algorithm,
    extensions: [
      options.keyEncipherment === true
        ? new KeyUsagesExtension(KeyUsageFlags.digitalSignature | KeyUsageFlags.keyEncipherment, true)
        : new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      new ExtendedKeyUsageExtension(options.usages.map((u) => (u === 'server' ? ExtendedKeyUsage.serverAuth : ExtendedKeyUsage.clientAuth))),
      await authorityKeyId(issuer),
      ...alternativeNames(options.names),
    ],
  })
  return pemOf(certificate)
}

/**
 * The authority's own key identifier, as it stands there: RFC 5280 §4.2.1.1 wants the same bytes. An authority made by Go ≥ 1.25 has a truncated SHA-256
 * there (`crypto/x509`, RFC 7093), others a SHA-1; OpenSSL refuses a leaf that names another. Only one without any is computed.
 */
async function authorityKeyId(issuer: X509Certificate): Promise<Extension> {
  const own = issuer.getExtension(SubjectKeyIdentifierExtension)
  return own === null ? AuthorityKeyIdentifierExtension.create(issuer.publicKey) : new AuthorityKeyIdentifierExtension(own.keyId)
}

/** Random 128 bits, positive and of full length in DER. */
function serialNumber(): string {
  const bytes = randomBytes(16)
  bytes[0] = (bytes[0]! & 0x3f) | 0x40
  return bytes.toString('hex')
}

function nameOf(subject: Subject): JsonName {
  return [...(subject.organizations ?? []).map((o) => ({ O: [o] })), ...(subject.commonName === undefined ? [] : [{ CN: [subject.commonName] }])]
}

function alternativeNames(names: AlternativeNames | undefined): Extension[] {
  const dns = (names?.dns ?? []).map((value): JsonGeneralName => ({ type: 'dns', value }))
  const addresses = (names?.addresses ?? []).filter((a) => isIP(a) !== 0).map((value): JsonGeneralName => ({ type: 'ip', value }))
  return dns.length + addresses.length === 0 ? [] : [new SubjectAlternativeNameExtension([...dns, ...addresses])]
}

/** PEM that ends in a line break, as Go's and OpenSSL's writers end it. */
function pemOf(certificate: X509Certificate): string {
  return `${certificate.toString('pem')}\n`
}
