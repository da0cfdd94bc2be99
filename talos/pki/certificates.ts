/**
 * X.509 as Talos makes it: authorities, and certificates signed by them.
 * Every certificate made here passes `openssl verify -x509_strict`.
 */
import { randomBytes, type webcrypto, X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import type * as X509 from '@peculiar/x509'
import { generateKey, type KeyKind, type KeyPair, signingKeys } from './keys.ts'
import type { SecretsBundle } from '../secrets/bundle.ts'

export interface Subject {
  commonName?: string | undefined
  organizations?: readonly string[] | undefined
}

/** Subject alternative names of a server certificate. */
export interface AlternativeNames {
  dns?: readonly string[] | undefined
  addresses?: readonly string[] | undefined
}

/**
 * Loaded at the first use: many processes never make a certificate, and loading the library takes
 * longer than opening a connection.
 */
async function library(): Promise<typeof X509> {
  await import('reflect-metadata')
  return import('@peculiar/x509')
}

const hourMs = 3_600_000
/** Talos: `CAValidityPeriod` is 10 years of 365 days. */
const authorityLifetimeMs = 87_600 * hourMs
/** Certificates are backdated by this time, so that a peer with a slow clock accepts them. */
const backdateMs = 5 * 60_000

/**
 * A self-signed authority with Talos's extensions (critical keyUsage digitalSignature and
 * keyCertSign, both extended usages, a key identifier). `key` takes a ready-made PEM key instead of
 * a new one.
 */
export async function createAuthority(options: {
  kind: KeyKind
  subject: Subject
  now: Date
  lifetimeMs?: number
  key?: string | undefined
}): Promise<KeyPair> {
  const x509 = await library()
  const key = options.key ?? (await generateKey(options.kind))
  const { privateKey, publicKey, algorithm } = signingKeys(key)
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(),
    name: nameOf(options.subject),
    notBefore: new Date(options.now.getTime() - backdateMs),
    notAfter: new Date(options.now.getTime() + (options.lifetimeMs ?? authorityLifetimeMs)),
    signingAlgorithm: algorithm,
    keys: { privateKey, publicKey },
    extensions: [
      new x509.KeyUsagesExtension(
        x509.KeyUsageFlags.digitalSignature | x509.KeyUsageFlags.keyCertSign,
        true,
      ),
      new x509.ExtendedKeyUsageExtension([
        x509.ExtendedKeyUsage.serverAuth,
        x509.ExtendedKeyUsage.clientAuth,
      ]),
      new x509.BasicConstraintsExtension(true, undefined, true),
      await x509.SubjectKeyIdentifierExtension.create(publicKey),
    ],
  })
  return { crt: pemOf(certificate), key }
}

export interface Issue {
  subject: Subject
  /**
   * Extended key usages. A Talos server refuses a client certificate with any usage besides
   * `client`.
   */
  usages: readonly ('server' | 'client')[]
  names?: AlternativeNames
  /** Set for Kubernetes client certificates, not for Talos's. */
  keyEncipherment?: boolean
  lifetimeMs: number
  now: Date
}

/**
 * Issues a certificate with a new key, of the authority's kind or of `kind`, or with the ready-made
 * `key`.
 */
export async function issueCertificate(
  authority: KeyPair,
  options: Issue & { kind?: KeyKind; key?: string },
): Promise<KeyPair> {
  const kind =
    options.kind ?? (signingKeys(authority.key).algorithm.name === 'Ed25519' ? 'ed25519' : 'p256')
  const key = options.key ?? (await generateKey(kind))
  return { crt: await sign(authority, signingKeys(key).publicKey, options), key }
}

async function sign(
  authority: KeyPair,
  publicKey: webcrypto.CryptoKey,
  options: Issue,
): Promise<string> {
  const x509 = await library()
  const issuer = new x509.X509Certificate(authority.crt)
  const signer = signingKeys(authority.key)
  const names = alternativeNames(options.names)
  const certificate = await x509.X509CertificateGenerator.create({
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
        ? new x509.KeyUsagesExtension(
            x509.KeyUsageFlags.digitalSignature | x509.KeyUsageFlags.keyEncipherment,
            true,
          )
        : new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension(
        options.usages.map((u) =>
          u === 'server' ? x509.ExtendedKeyUsage.serverAuth : x509.ExtendedKeyUsage.clientAuth,
        ),
      ),
      await authorityKeyId(issuer),
      ...(names.length === 0 ? [] : [new x509.SubjectAlternativeNameExtension(names)]),
    ],
  })
  return pemOf(certificate)
}

/**
 * The authority's key identifier, copied from its certificate, as RFC 5280 §4.2.1.1 requires.
 * Authorities made by Go ≥ 1.25 have a truncated SHA-256 (`crypto/x509`, RFC 7093), others a SHA-1;
 * OpenSSL refuses a leaf with a different identifier. If the authority's certificate has none, a
 * new identifier is computed.
 */
async function authorityKeyId(issuer: X509.X509Certificate): Promise<X509.Extension> {
  const x509 = await library()
  const own = issuer.getExtension(x509.SubjectKeyIdentifierExtension)
  return own === null
    ? x509.AuthorityKeyIdentifierExtension.create(issuer.publicKey)
    : new x509.AuthorityKeyIdentifierExtension(own.keyId)
}

/** A random serial number of 128 bits, positive and of full length in DER. */
function serialNumber(): string {
  const bytes = randomBytes(16)
  bytes[0] = (bytes[0]! & 0x3f) | 0x40
  return bytes.toString('hex')
}

function nameOf(subject: Subject): X509.JsonName {
  return [
    ...(subject.organizations ?? []).map((o) => ({ O: [o] })),
    ...(subject.commonName === undefined ? [] : [{ CN: [subject.commonName] }]),
  ]
}

function alternativeNames(names: AlternativeNames | undefined): X509.JsonGeneralName[] {
  const dns = (names?.dns ?? []).map((value): X509.JsonGeneralName => ({ type: 'dns', value }))
  const addresses = (names?.addresses ?? [])
    .filter((a) => isIP(a) !== 0)
    .map((value): X509.JsonGeneralName => ({ type: 'ip', value }))
  return [...dns, ...addresses]
}

/** PEM with a trailing line break, as Go and OpenSSL write it. */
function pemOf(certificate: X509.X509Certificate): string {
  return `${certificate.toString('pem')}\n`
}

/**
 * Credentials for mutual TLS: trusted authority (two during a rotation), certificate and key. PEM.
 */
export interface Credentials extends KeyPair {
  ca: string
}

/**
 * The certificates in a PEM text, which has at least one. @throws Error if one of them can't be
 * read
 */
export const certificatesIn = (pem: string): X509Certificate[] =>
  (pem.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [pem]).map(
    (one) => new X509Certificate(one),
  )

/** Talos's roles (`pkg/machinery/role`), which are organizations in the certificate's subject. */
export type TalosRole = 'os:admin' | 'os:operator' | 'os:reader' | 'os:etcd:backup'

/**
 * A client certificate for the Talos API of this cluster: Ed25519, client usage only, as Talos
 * requires.
 */
export async function mintTalosClient(
  bundle: SecretsBundle,
  options: { roles: readonly TalosRole[]; lifetimeMs: number; now: Date },
): Promise<Credentials> {
  const pair = await issueCertificate(bundle.certs.os, {
    subject: { organizations: options.roles },
    usages: ['client'],
    lifetimeMs: options.lifetimeMs,
    now: options.now,
  })
  return { ca: bundle.certs.os.crt, ...pair }
}

/**
 * A client certificate for the Kubernetes API of this cluster. Kubernetes reads the common name as
 * the user and the organizations as groups: members of `system:masters` may do everything. The
 * certificate can't be revoked; it only expires.
 */
export async function mintKubernetesClient(
  bundle: SecretsBundle,
  options: { commonName: string; organizations: readonly string[]; lifetimeMs: number; now: Date },
): Promise<Credentials> {
  const pair = await issueCertificate(bundle.certs.k8s, {
    subject: { commonName: options.commonName, organizations: options.organizations },
    usages: ['client'],
    keyEncipherment: true,
    lifetimeMs: options.lifetimeMs,
    now: options.now,
  })
  return { ca: bundle.certs.k8s.crt, ...pair }
}
