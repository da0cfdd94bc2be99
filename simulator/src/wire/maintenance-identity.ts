/**
 * The identity of the maintenance API: a leaf for `maintenance-service.talos.dev`, signed by a root that exists for one boot and is never sent
 * (Talos: internal/app/machined/pkg/controllers/secrets/maintenance_root.go). The keys are new each time, so the fingerprint changes.
 *
 * Encoded by hand (RFC 5280, DER in X.690) because every boot makes such a certificate: with a certificate library, booting a rack takes a fifth longer.
 */
import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import { isIP } from 'node:net'
import type { ServerIdentity } from './certificates.ts'

const HOUR = 3_600_000

const der = (tag: number, ...parts: readonly Uint8Array[]): Buffer => {
  const body = Buffer.concat(parts)
  const { length } = body
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
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
  ed25519: oid('2b6570'),
  commonName: oid('550403'),
  organization: oid('55040a'),
  keyUsage: oid('551d0f'),
  subjectAltName: oid('551d11'),
  authorityKeyIdentifier: oid('551d23'),
  extKeyUsage: oid('551d25'),
  serverAuth: oid('2b06010505070301'),
}
const algorithm = sequence(OID.ed25519)
const name = (kind: Buffer, text: string): Buffer => sequence(der(0x31, sequence(kind, der(0x0c, Buffer.from(text)))))
const extension = (kind: Buffer, value: Buffer, isCritical = false): Buffer => sequence(kind, ...(isCritical ? [yes] : []), octets(value))

/** X.509 version 3. */
const version = der(0xa0, der(0x02, Buffer.from([2])))
const issuer = name(OID.organization, 'talos')
const subject = name(OID.commonName, 'maintenance-service.talos.dev')
/** Key usage: the first bit means digital signature. */
const keyUsage = extension(OID.keyUsage, bits(Buffer.from([0x80]), 7), true)
const extKeyUsage = extension(OID.extKeyUsage, sequence(OID.serverAuth))

const addressBytes = (text: string): Buffer => {
  if (isIP(text) === 4) return Buffer.from(text.split('.').map(Number))
  const [before = [], after = []] = text.split('::').map((half) => half.split(':').filter((group) => group !== ''))
  const groups = [...before, ...Array.from({ length: 8 - before.length - after.length }, () => '0'), ...after]
  return Buffer.from(groups.map((group) => group.padStart(4, '0')).join(''), 'hex')
}
const alternative = (text: string): Buffer => (isIP(text) ? der(0x87, addressBytes(text)) : der(0x82, Buffer.from(text)))

const serialNumber = (): Buffer => {
  const bytes = randomBytes(16)
  bytes[0] = (bytes[0]! & 0x7f) | 0x01
  return der(0x02, bytes)
}

const pem = (label: string, bytes: Buffer): string =>
  `-----BEGIN ${label}-----\n${bytes.toString('base64').replaceAll(/.{64}/g, '$&\n').trimEnd()}\n-----END ${label}-----\n`

/** @param names addresses and DNS names of the leaf; empty ones are left out. @param now milliseconds since 1970 */
export function maintenanceIdentity(names: readonly string[], now: number): ServerIdentity {
  const root = generateKeyPairSync('ed25519')
  const leaf = generateKeyPairSync('ed25519', { publicKeyEncoding: { type: 'spki', format: 'der' }, privateKeyEncoding: { type: 'pkcs8', format: 'pem' } })
  // The last 32 bytes of an Ed25519 key in SPKI are the key itself (RFC 8410).
  const rootId = createHash('sha1')
    .update(root.publicKey.export({ type: 'spki', format: 'der' }).subarray(-32))
    .digest()
  const content = sequence(
    version,
    serialNumber(),
    algorithm,
    issuer,
    sequence(time(now - 10_000), time(now + 24 * HOUR)),
    subject,
    leaf.publicKey,
    der(
      0xa3,
      sequence(
        keyUsage,
        extKeyUsage,
        extension(OID.authorityKeyIdentifier, sequence(der(0x80, rootId))),
        extension(OID.subjectAltName, sequence(...[...new Set(names)].filter((n) => n !== '').map(alternative))),
      ),
    ),
  )
  const crt = pem('CERTIFICATE', sequence(content, algorithm, bits(sign(null, content, root.privateKey))))
  return { crt, key: leaf.privateKey, fingerprint: createHash('sha256').update(leaf.publicKey).digest('base64') }
}
