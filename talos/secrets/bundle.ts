/**
 * The secrets of one cluster, as `talosctl gen secrets` generates, writes and reads them. Anyone
 * who has a bundle controls the cluster.
 */
import { randomBytes, randomInt } from 'node:crypto'
import { stringify } from 'yaml'
import { createAuthority } from '../pki/certificates.ts'
import { encodePair, encodePem, generateKey, type KeyPair, kindOf, readKey } from '../pki/keys.ts'
import { type Contract, contractOf, has } from '../versions.ts'
import { ConfigError, readDocuments, textsOf } from '../config/tree.ts'
import { secretsIn } from '../facts/facts.ts'
import type { Authorities } from '../facts/forms.ts'

export interface SecretsBundle {
  /** `id` names the cluster to the discovery service and must never change. */
  cluster: { id: string; secret: string }
  /**
   * Kubernetes' encryption keys: a new cluster has only the secretbox key; a cluster made before
   * Talos 1.3 has the AES-CBC key, or both.
   */
  secrets: {
    bootstrapToken: string
    secretboxEncryptionSecret?: string
    aescbcEncryptionSecret?: string
  }
  /** The machine token, which a worker uses to request its certificate from trustd. */
  trustdInfo: { token: string }
  /**
   * PEM. `os` signs certificates of Talos's API, `k8s` those of the Kubernetes API. The service
   * account has only a key.
   */
  certs: {
    os: KeyPair
    etcd: KeyPair
    k8s: KeyPair
    k8sAggregator: KeyPair
    k8sServiceAccount: { key: string }
  }
}

/** Ready-made private keys, PEM, for tests: RSA-4096 is slow to generate. */
export type ReadyKeys = Partial<Record<keyof SecretsBundle['certs'], string>>

/**
 * Generates secrets with Talos's kinds and sizes (`pkg/machinery/config/generate/secrets/`). Only
 * the subject of the aggregator's authority differs: Talos leaves the subject empty, which RFC 5280
 * (4.1.2.6) forbids and `openssl verify -x509_strict` refuses.
 */
export async function generateSecrets(options: {
  now: Date
  contract?: Contract | string
  keys?: ReadyKeys
}): Promise<SecretsBundle> {
  const { now, keys = {} } = options
  const contract = contractOf(options.contract)
  const [os, etcd, k8s, k8sAggregator, serviceAccount] = await Promise.all([
    createAuthority({ kind: 'ed25519', subject: { organizations: ['talos'] }, now, key: keys.os }),
    createAuthority({ kind: 'p256', subject: { organizations: ['etcd'] }, now, key: keys.etcd }),
    createAuthority({
      kind: 'p256',
      subject: { organizations: ['kubernetes'] },
      now,
      key: keys.k8s,
    }),
    createAuthority({
      kind: 'p256',
      subject: { commonName: 'front-proxy' },
      now,
      key: keys.k8sAggregator,
    }),
    keys.k8sServiceAccount ??
      generateKey(has(contract, 'rsaServiceAccountKey') ? 'rsa4096' : 'p256'),
  ])
  return {
    // Talos before 1.14 uses URL-safe base64, 1.14 standard base64. Each version decodes only its
    // own variant.
    cluster: { id: clusterId(contract), secret: randomBytes(32).toString('base64') },
    secrets: {
      bootstrapToken: kubeadmToken(),
      secretboxEncryptionSecret: randomBytes(32).toString('base64'),
    },
    trustdInfo: { token: kubeadmToken() },
    certs: { os, etcd, k8s, k8sAggregator, k8sServiceAccount: { key: serviceAccount } },
  }
}

function clusterId(contract: Contract): string {
  const id = randomBytes(32).toString('base64')
  return has(contract, 'plainClusterId') ? id : id.replaceAll('+', '-').replaceAll('/', '_')
}

/** A bootstrap token in kubeadm's format: `abcdef.0123456789abcdef`. */
export function kubeadmToken(): string {
  const alphabet = 'abcdefghijklmnopqrstuvwxyz0123456789'
  const part = (length: number) =>
    Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join('')
  return `${part(6)}.${part(16)}`
}

/** The bundle as talosctl's `secrets.yaml`. */
export function writeSecrets(bundle: SecretsBundle): string {
  const { certs } = bundle
  return stringify(
    {
      cluster: bundle.cluster,
      secrets: {
        bootstraptoken: bundle.secrets.bootstrapToken,
        aescbcencryptionsecret: bundle.secrets.aescbcEncryptionSecret,
        secretboxencryptionsecret: bundle.secrets.secretboxEncryptionSecret,
      },
      trustdinfo: bundle.trustdInfo,
      certs: {
        etcd: encodePair(certs.etcd),
        k8s: encodePair(certs.k8s),
        k8saggregator: encodePair(certs.k8sAggregator),
        k8sserviceaccount: { key: encodePem(certs.k8sServiceAccount.key) },
        os: encodePair(certs.os),
      },
    },
    { indent: 4, lineWidth: 0 },
  )
}

/** Far more than a certificate or key of Talos takes. Longer ones could be slow to read. */
const longestPem = 16 * 1024

function mappingIn(yaml: string): unknown {
  try {
    const [first] = readDocuments(yaml, 'secrets')
    return first && textsOf(first)
  } catch (cause) {
    const line = cause instanceof ConfigError ? cause.problems[0]?.line : undefined
    throw new Error(
      `Secrets: the text is no YAML mapping of plain values${line === undefined ? '' : ` (line ${line})`}`,
      { cause },
    )
  }
}

/**
 * Parses talosctl's `secrets.yaml`. Throws an Error that names the first missing or invalid field.
 */
export function readSecrets(yaml: string): SecretsBundle {
  const root = mappingIn(yaml)
  const optional = (...path: string[]): string | undefined => {
    let at: unknown = root
    for (const key of path)
      at = typeof at === 'object' && at !== null ? (at as Record<string, unknown>)[key] : undefined
    return typeof at === 'string' && at !== '' ? at : undefined
  }
  const text = (...path: string[]): string => {
    const found = optional(...path)
    if (found === undefined) throw new Error(`Secrets: ${path.join('.')} is missing`)
    return found
  }
  const pem = (label: RegExp, ...path: string[]): string => {
    const decoded = Buffer.from(text(...path), 'base64').toString('utf8')
    if (!label.test(decoded) || decoded.length > longestPem)
      throw new Error(`Secrets: ${path.join('.')} is not the PEM text expected there`)
    return decoded
  }
  const key = (...path: string[]): string => {
    const decoded = pem(/^-----BEGIN ((RSA|EC|ED25519) )?PRIVATE KEY-----/, ...path)
    try {
      kindOf(readKey(decoded))
    } catch {
      throw new Error(`Secrets: ${path.join('.')} is not a readable private key`)
    }
    return decoded
  }
  const pair = (name: string): KeyPair => ({
    crt: pem(/^-----BEGIN CERTIFICATE-----/, 'certs', name, 'crt'),
    key: key('certs', name, 'key'),
  })
  const cluster = { id: text('cluster', 'id'), secret: text('cluster', 'secret') }
  const aescbc = optional('secrets', 'aescbcencryptionsecret')
  const secretbox =
    aescbc === undefined
      ? text('secrets', 'secretboxencryptionsecret')
      : optional('secrets', 'secretboxencryptionsecret')
  return {
    cluster,
    secrets: {
      bootstrapToken: text('secrets', 'bootstraptoken'),
      ...(aescbc !== undefined && { aescbcEncryptionSecret: aescbc }),
      ...(secretbox !== undefined && { secretboxEncryptionSecret: secretbox }),
    },
    trustdInfo: { token: text('trustdinfo', 'token') },
    certs: {
      os: pair('os'),
      etcd: pair('etcd'),
      k8s: pair('k8s'),
      k8sAggregator: pair('k8saggregator'),
      k8sServiceAccount: { key: key('certs', 'k8sserviceaccount', 'key') },
    },
  }
}

/**
 * The secrets of a cluster from the configuration of a control plane, which contains all of them.
 * @throws Error that names the first missing field; ConfigError for invalid YAML
 */
export function secretsOfControlPlane(config: string): SecretsBundle {
  const found = secretsIn(config)
  const pair = ({ issuing }: Authorities) => encodePair(issuing ?? { crt: '', key: '' })
  return readSecrets(
    stringify({
      cluster: { id: found.clusterId ?? '', secret: found.clusterSecret ?? '' },
      secrets: {
        bootstraptoken: found.bootstrapToken ?? '',
        aescbcencryptionsecret: found.encryptionKeys.aescbc ?? '',
        secretboxencryptionsecret: found.encryptionKeys.secretbox ?? '',
      },
      trustdinfo: { token: found.machineToken ?? '' },
      certs: {
        etcd: pair(found.etcdAuthority),
        k8s: pair(found.kubernetesAuthorities),
        k8saggregator: pair(found.aggregatorAuthorities),
        k8sserviceaccount: { key: encodePem(found.serviceAccountKey ?? '') },
        os: pair(found.talosAuthorities),
      },
    }),
  )
}
