/** Reads the proof of ownership of a cluster, before any machine is contacted. */
import { type Credentials, mintTalosClient } from '#talos/pki/certificates.ts'
import type { SecretsBundle } from '#talos/secrets/bundle.ts'
import type { Reader } from '../../../reading/reader.ts'
import type { For } from '../../../reading/asker.ts'
import { type Handed, invalid } from './proof-files.ts'

/** The proof of ownership of a cluster. */
export interface Proof {
  /** Null without a secrets file: the secrets are then read from a control plane. */
  readonly bundle: SecretsBundle | null
  readonly credentials: Credentials
  /** Addresses of the talosconfig; empty with a secrets file. */
  readonly endpoints: readonly string[]
  /** The kubeconfig's authority as PEM. */
  readonly kubernetesCa: string | null
}

const lifetimeMs = 3_600_000

/**
 * Parses the files. @throws Problem `invalid` with the field
 */
export async function readProof(
  read: Reader,
  who: For,
  { secrets, talosconfig, kubeconfig }: Handed,
  now: Date,
): Promise<Proof> {
  const { bundle, access, kubernetesCa } = await read(who, 'proof', {
    secrets,
    talosconfig,
    kubeconfig,
  })
  if (bundle !== null) {
    const credentials = await mintTalosClient(bundle, {
      roles: ['os:admin'],
      lifetimeMs,
      now,
    }).catch(() => {
      throw invalid(
        'secrets',
        'Secrets: the key of the Talos certificate authority (certs.os) does not match the certificate',
      )
    })
    return { bundle, credentials, endpoints: [], kubernetesCa }
  }
  const { ca, crt, key, endpoints } = access
  return { bundle: null, credentials: { ca, crt, key }, endpoints, kubernetesCa }
}

const encryptionKeys = ({ secrets }: SecretsBundle): string =>
  `${secrets.secretboxEncryptionSecret ?? ''} ${secrets.aescbcEncryptionSecret ?? ''}`

/**
 * Names of the secrets that differ between two bundles; empty if nothing was changed or rotated.
 */
export function differences(one: SecretsBundle, other: SecretsBundle): string[] {
  const pem = (text: string) => text.replaceAll(/\s+/g, '')
  const pairs: [string, string, string][] = [
    ['the id of the cluster', one.cluster.id, other.cluster.id],
    ['the secret of the cluster', one.cluster.secret, other.cluster.secret],
    ['the machine token', one.trustdInfo.token, other.trustdInfo.token],
    ['the bootstrap token', one.secrets.bootstrapToken, other.secrets.bootstrapToken],
    ['the encryption key of Kubernetes', encryptionKeys(one), encryptionKeys(other)],
    ["Talos's authority", one.certs.os.crt, other.certs.os.crt],
    ["Kubernetes' authority", one.certs.k8s.crt, other.certs.k8s.crt],
    ["etcd's authority", one.certs.etcd.crt, other.certs.etcd.crt],
    ["the aggregator's authority", one.certs.k8sAggregator.crt, other.certs.k8sAggregator.crt],
    [
      'the key of service accounts',
      one.certs.k8sServiceAccount.key,
      other.certs.k8sServiceAccount.key,
    ],
  ]
  return pairs.filter(([, a, b]) => pem(a) !== pem(b)).map(([name]) => name)
}
