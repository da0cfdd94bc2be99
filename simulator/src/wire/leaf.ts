/**
 * Certificates of servers and clients, encoded by hand (RFC 5280, DER in X.690): every boot makes
 * several, and with a certificate library booting a rack takes a fifth longer.
 */
import { createHash, type KeyObject, randomBytes, sign } from 'node:crypto'
import { isIP } from 'node:net'

const der = (tag: number, ...parts: readonly Uint8Array[]): Buffer => {
  const body = Buffer.concat(parts)
  const { length } = body
  const size =
    length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...size]), body])
}
const sequence = (...parts: readonly Uint8Array[]): Buffer => der(0x30, ...parts)
const bits = (bytes: Uint8Array, unused = 0): Buffer => der(0x03, Buffer.from([unused]), bytes)
const octets = (bytes: Uint8Array): Buffer => der(0x04, bytes)
const yes = der(0x01, Buffer.from([0xff]))
const oid = (hex: string): Buffer => der(0x06, Buffer.from(hex, 'hex'))

/** A time in a certificate: UTCTime until 2049, GeneralizedTime from 2050 on (RFC 5280). */
const time = (ms: number): Buffer => {
  const text = new Date(ms).toISOString().replaceAll(/[-:T]|\.\d+/g, '')
  return text < '2050' ? der(0x17, Buffer.from(text.slice(2))) : der(0x18, Buffer.from(text))
}

const OID = {
  commonName: oid('550403'),
  organization: oid('55040a'),
  keyUsage: oid('551d0f'),
  subjectAltName: oid('551d11'),
  basicConstraints: oid('551d13'),
  authorityKeyIdentifier: oid('551d23'),
  extKeyUsage: oid('551d25'),
} as const
const USAGES = { serverAuth: oid('2b06010505070301'), clientAuth: oid('2b06010505070302') } as const
/** Ed25519 (RFC 8410), and ECDSA with SHA-256 (RFC 5758). */
const ALGORITHMS = {
  ed25519: sequence(oid('2b6570')),
  ec: sequence(oid('2a8648ce3d040302')),
} as const

const extension = (kind: Buffer, value: Buffer, isCritical = false): Buffer =>
  sequence(kind, ...(isCritical ? [yes] : []), octets(value))

/** X.509 version 3. */
const version = der(0xa0, der(0x02, Buffer.from([2])))
/** Key usage: the first bit means digital signature. */
const keyUsage = extension(OID.keyUsage, bits(Buffer.from([0x80]), 7), true)
/** The certificate is not that of an authority. */
const basicConstraints = extension(OID.basicConstraints, sequence(), true)

const addressBytes = (text: string): Buffer => {
  if (isIP(text) === 4) return Buffer.from(text.split('.').map(Number))
  const [before = [], after = []] = text
    .split('::')
    .map((half) => half.split(':').filter((group) => group !== ''))
  const groups = [
    ...before,
    ...Array.from({ length: 8 - before.length - after.length }, () => '0'),
    ...after,
  ]
  return Buffer.from(groups.map((group) => group.padStart(4, '0')).join(''), 'hex')
}
const alternative = (text: string): Buffer =>
  isIP(text) ? der(0x87, addressBytes(text)) : der(0x82, Buffer.from(text))

const serialNumber = (): Buffer => {
  const bytes = randomBytes(16)
  bytes[0] = (bytes[0]! & 0x7f) | 0x01
  return der(0x02, bytes)
}

const pem = (label: string, bytes: Buffer): string =>
  `-----BEGIN ${label}-----\n${bytes.toString('base64').replaceAll(/.{64}/g, '$&\n').trimEnd()}\n-----END ${label}-----\n`

/** A distinguished name in DER. Empty parts are left out. */
export const distinguishedName = ({
  organizations = [],
  commonName = '',
}: {
  organizations?: readonly string[]
  commonName?: string
}): Buffer =>
  sequence(
    ...[
      ...organizations.map((text) => [OID.organization, text] as const),
      [OID.commonName, commonName] as const,
    ]
      .filter(([, text]) => text !== '')
      .map(([kind, text]) => der(0x31, sequence(kind, der(0x0c, Buffer.from(text))))),
  )

/**
 * The key identifier of a public key (RFC 5280 §4.2.1.2). SPKI ends with the key itself: 32 bytes
 * of Ed25519 (RFC 8410), 65 bytes of P-256 (RFC 5480).
 */
export const keyIdOf = (key: KeyObject): Buffer =>
  createHash('sha1')
    .update(
      key
        .export({ type: 'spki', format: 'der' })
        .subarray(key.asymmetricKeyType === 'ed25519' ? -32 : -65),
    )
    .digest()

/**
 * The authority that signs. `name`: the authority's subject in DER. `keyId`: the bytes of its key
 * identifier.
 */
export interface Signer {
  readonly name: Uint8Array
  readonly keyId: Uint8Array
  /** Ed25519 or ECDSA P-256. */
  readonly key: KeyObject
}

export interface Leaf {
  readonly commonName: string
  readonly organizations?: readonly string[]
  /** Addresses and DNS names; empty ones are left out. */
  readonly names?: readonly string[]
  readonly usages: readonly (keyof typeof USAGES)[]
  readonly lifetimeMs: number
  /** Milliseconds since 1970. */
  readonly now: number
}

/** The signed certificate as PEM. `publicKey`: SPKI in DER. */
export const signLeaf = (signer: Signer, publicKey: Uint8Array, leaf: Leaf): string => {
  const names = [...new Set(leaf.names)].filter((name) => name !== '')
  const isEd25519 = signer.key.asymmetricKeyType === 'ed25519'
  const algorithm = isEd25519 ? ALGORITHMS.ed25519 : ALGORITHMS.ec
  const content = sequence(
    version,
    serialNumber(),
    algorithm,
    signer.name,
    sequence(time(leaf.now - 10_000), time(leaf.now + leaf.lifetimeMs)),
    distinguishedName(leaf),
    publicKey,
    der(
      0xa3,
      sequence(
        keyUsage,
        extension(OID.extKeyUsage, sequence(...leaf.usages.map((usage) => USAGES[usage]))),
        basicConstraints,
        extension(OID.authorityKeyIdentifier, sequence(der(0x80, signer.keyId))),
        ...(names.length > 0
          ? [extension(OID.subjectAltName, sequence(...names.map(alternative)))]
          : []),
      ),
    ),
  )
  return pem(
    'CERTIFICATE',
    sequence(content, algorithm, bits(sign(isEd25519 ? null : 'sha256', content, signer.key))),
  )
}
