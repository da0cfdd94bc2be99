/**
 * Defines which certificates are compared with Talos's, makes ours, and reads the fields that are
 * compared.
 */
import { createHash, X509Certificate as NodeCertificate } from 'node:crypto'
import 'reflect-metadata'
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509Certificate,
} from '@peculiar/x509'
import {
  issueCertificate,
  mintKubernetesClient,
  mintTalosClient,
  type TalosRole,
} from '#talos/pki/certificates.ts'
import type { KeyPair } from '#talos/pki/keys.ts'
import { generateSecrets, type SecretsBundle } from '#talos/secrets/bundle.ts'

/** Time at which all certificates are made and verified, within the validity of `secrets.yaml`. */
export const now = new Date('2027-01-01T00:00:00Z')

const hourMs = 3_600_000
const yearHours = 8_760

type AuthorityKind = 'os' | 'etcd' | 'k8s' | 'k8sAggregator'

export interface CertificateCase {
  id: string
  kind: AuthorityKind | 'talosconfig' | 'kubeconfig' | 'apid'
  commonName?: string
  organizations?: readonly string[]
  dns?: readonly string[]
  addresses?: readonly string[]
  hours?: number
}

/** A certificate, its key, and the certificate of the authority that signed it, all in PEM. */
export interface Pair extends KeyPair {
  ca: string
}

/**
 * The compared fields of a certificate, as in `certificates.go`. Keys, serial numbers and
 * signatures differ each time and aren't compared.
 */
export interface Profile {
  organizations: string[]
  commonName: string
  names: string[]
  keyUsage: string
  extKeyUsage: string[]
  authority: boolean
  hours: number
  backdatedSeconds: number
  publicKey: string
  keyLabel: string
  signature: string
  authorityKeyId: 'of the authority' | 'of another' | 'none'
  verified: string
}

export const certificateCases: readonly CertificateCase[] = [
  ...(['os', 'etcd', 'k8s', 'k8sAggregator'] as const).map((kind) => ({
    id: `authority ${kind}`,
    kind,
  })),
  ...[['os:admin'], ['os:reader'], ['os:admin', 'os:etcd:backup']].map((organizations) => ({
    id: `talosconfig of ${organizations.join(', ')}`,
    kind: 'talosconfig' as const,
    organizations,
    hours: yearHours,
  })),
  { id: 'talosconfig of an hour', kind: 'talosconfig', organizations: ['os:operator'], hours: 1 },
  {
    id: 'kubeconfig of the administrator',
    kind: 'kubeconfig',
    commonName: 'admin',
    organizations: ['system:masters'],
    hours: yearHours,
  },
  {
    id: 'kubeconfig of a person',
    kind: 'kubeconfig',
    commonName: 'anna@example.org',
    organizations: ['steelyard:operators', 'staff'],
    hours: 8,
  },
  {
    id: 'apid of a control plane',
    kind: 'apid',
    commonName: 'node-1',
    dns: ['node-1', 'node-1.example.org'],
    addresses: ['10.0.0.1', 'fd00::1'],
    hours: 24,
  },
]

/** Makes our certificate for every case. */
export async function ourCertificates(bundle: SecretsBundle): Promise<Record<string, Pair>> {
  // Reuses the bundle's RSA-4096 key, because generating one takes a second. The key signs no
  // certificate.
  const { certs } = await generateSecrets({
    now,
    keys: { k8sServiceAccount: bundle.certs.k8sServiceAccount.key },
  })
  const issue = async (one: CertificateCase): Promise<Pair> => {
    const lifetimeMs = (one.hours ?? 0) * hourMs
    const { commonName = '', organizations = [] } = one
    if (one.kind === 'talosconfig')
      return mintTalosClient(bundle, { roles: organizations as TalosRole[], lifetimeMs, now })
    if (one.kind === 'kubeconfig')
      return mintKubernetesClient(bundle, { commonName, organizations, lifetimeMs, now })
    if (one.kind !== 'apid') return { ca: certs[one.kind].crt, ...certs[one.kind] }
    const names = { dns: one.dns, addresses: one.addresses }
    return {
      ca: bundle.certs.os.crt,
      ...(await issueCertificate(bundle.certs.os, {
        subject: { commonName },
        usages: ['server'],
        names,
        lifetimeMs,
        now,
      })),
    }
  }
  return Object.fromEntries(
    await Promise.all(certificateCases.map(async (one) => [one.id, await issue(one)] as const)),
  )
}

/** Reads the same fields of a certificate as `certificates.go`, without Go. */
export function profileOf({ ca, crt, key }: Pair): Profile {
  const read = new X509Certificate(crt)
  const names = read.getExtension(SubjectAlternativeNameExtension)?.names.toJSON() ?? []
  const usage = read.getExtension(KeyUsagesExtension)?.usages ?? 0
  const subject = (field: string) => read.subjectName.getField(field)
  const { asymmetricKeyType } = new NodeCertificate(crt).publicKey
  return {
    organizations: subject('O'),
    commonName: subject('CN')[0] ?? '',
    // First DNS names, then IP addresses, as Go lists them.
    names: ['dns', 'ip'].flatMap((type) =>
      names.filter((name) => name.type === type).map(({ value }) => value),
    ),
    keyUsage: (['digitalSignature', 'keyEncipherment', 'keyCertSign'] as const)
      .filter((flag) => (usage & KeyUsageFlags[flag]) !== 0)
      .join(', '),
    extKeyUsage: (read.getExtension(ExtendedKeyUsageExtension)?.usages ?? []).map((oid) =>
      oid === ExtendedKeyUsage.serverAuth ? 'serverAuth' : 'clientAuth',
    ),
    authority: read.getExtension(BasicConstraintsExtension)?.ca ?? false,
    hours: (read.notAfter.getTime() - now.getTime()) / hourMs,
    backdatedSeconds: (now.getTime() - read.notBefore.getTime()) / 1000,
    publicKey: asymmetricKeyType === 'ed25519' ? 'Ed25519' : 'ECDSA P-256',
    keyLabel: /^-----BEGIN ([^-]+)-----/.exec(key)?.[1] ?? '',
    signature:
      (read.signatureAlgorithm as { name?: string }).name === 'Ed25519'
        ? 'Ed25519'
        : 'ECDSA-SHA256',
    authorityKeyId: keyIdOf(read, new X509Certificate(ca)),
    verified: verified(crt, ca),
  }
}

function keyIdOf(leaf: X509Certificate, authority: X509Certificate): Profile['authorityKeyId'] {
  const named = leaf.getExtension(AuthorityKeyIdentifierExtension)?.keyId
  if (named === undefined) return 'none'
  return named === authority.getExtension(SubjectKeyIdentifierExtension)?.keyId
    ? 'of the authority'
    : 'of another'
}

/** "yes", or the reason why the certificate fails OpenSSL's rules for issuer and signature. */
function verified(crt: string, ca: string): string {
  const [leaf, authority] = [new NodeCertificate(crt), new NodeCertificate(ca)]
  if (!leaf.checkIssued(authority)) return 'not issued by the authority'
  return leaf.verify(authority.publicKey) ? 'yes' : 'wrong signature'
}

/**
 * Whether a certificate's key identifier is a truncated SHA-256 of its public key, as in Go 1.25
 * and newer (RFC 7093 §2, method 1).
 */
export function hasSha256KeyId(ca: string): boolean {
  const read = new X509Certificate(ca)
  const bits = Buffer.from(read.publicKey.rawData).subarray(-32)
  return (
    read.getExtension(SubjectKeyIdentifierExtension)?.keyId ===
    createHash('sha256').update(bits).digest('hex').slice(0, 40)
  )
}
