/** Parses the proof of ownership of a cluster, before any machine is contacted. */
import type { clusterImportPreview } from '#contract/clusters/takeover.ts'
import { Problem } from '#contract/errors.ts'
import type { Input } from '#contract/operation.ts'
import { readKubeconfig, readTalosconfig } from '#talos/access/access.ts'
import { ConfigError } from '#talos/config/tree.ts'
import { mintTalosClient } from '#talos/pki/certificates.ts'
import { readSecrets, type SecretsBundle, secretsOfControlPlane } from '#talos/secrets/bundle.ts'

type Handed = Partial<Pick<Input<typeof clusterImportPreview>['body'], 'secrets' | 'talosconfig' | 'kubeconfig'>>
export type Proof = Awaited<ReturnType<typeof readProof>>

const lifetimeMs = 3_600_000
const invalid = (field: string, sentence: string) => new Problem('invalid', sentence, { [field]: sentence })

/** Converts a parser's error to a Problem. Parser errors never contain secrets. */
function read<T>(field: string, act: () => T): T {
  try {
    return act()
  } catch (error) {
    const why = error instanceof ConfigError ? (error.problems[0]?.message ?? 'it cannot be read') : error instanceof Error ? error.message : String(error)
    throw invalid(field, why.split('\n', 1)[0]!.slice(0, 200))
  }
}

/** Kinds of files by their distinctive top-level keys, to recognise mixed-up files. */
const marks: readonly (readonly [string, RegExp])[] = [
  // Listed before the talosconfig, because a kubeconfig has contexts too.
  ['a kubeconfig', /^kind:[ \t]*Config[ \t]*$/m],
  ['a talosconfig', /^contexts:[ \t]*$/m],
  ['a secrets bundle', /^(?:trustdinfo|certs):/m],
  ['a machine configuration', /^machine:/m],
]
const wanted = { secrets: 'a secrets bundle', talosconfig: 'a talosconfig', kubeconfig: 'a kubeconfig' } as const

/** Refuses a file of another kind and names that kind. @throws Problem `invalid` */
function demandKind(field: keyof typeof wanted, text: string): void {
  const found = marks.find(([, mark]) => mark.test(text))?.[0]
  if (found !== undefined && found !== wanted[field]) throw invalid(field, `This is ${found}, not ${wanted[field]}`)
}

/**
 * Parses the files. Returns `bundle` (null without a secrets file; the secrets are then read from a control plane), `credentials` and `endpoints` for Talos,
 * and `kubernetesCa` (the kubeconfig's authority as PEM, or null). @throws Problem `invalid` with the field
 */
export async function readProof({ secrets, talosconfig, kubeconfig }: Handed, now: Date) {
  for (const [field, text] of Object.entries({ secrets, talosconfig, kubeconfig })) if (text !== undefined) demandKind(field as keyof typeof wanted, text)
  const kubernetesCa = kubeconfig === undefined ? null : read('kubeconfig', () => readKubeconfig(kubeconfig)).ca
  if (secrets !== undefined) {
    const bundle = read('secrets', () => readSecrets(secrets))
    const credentials = await mintTalosClient(bundle, { roles: ['os:admin'], lifetimeMs, now }).catch(() => {
      throw invalid('secrets', 'Secrets: the key of the Talos certificate authority (certs.os) does not match the certificate')
    })
    return { bundle, credentials, endpoints: [], kubernetesCa }
  }
  const { ca, crt, key, endpoints } = read('talosconfig', () => readTalosconfig(talosconfig ?? ''))
  return { bundle: null, credentials: { ca, crt, key }, endpoints, kubernetesCa }
}

/** The bundle in a control plane's configuration. @throws Problem `invalid` */
export const bundleOf = (config: string, name: string): SecretsBundle =>
  read('talosconfig', () => {
    try {
      return secretsOfControlPlane(config)
    } catch (error) {
      throw new Error(`The configuration of ${name} does not contain all secrets of its cluster. ${error instanceof Error ? error.message : ''}`.trim(), {
        cause: error,
      })
    }
  })

const encryptionKeys = ({ secrets }: SecretsBundle): string => `${secrets.secretboxEncryptionSecret ?? ''} ${secrets.aescbcEncryptionSecret ?? ''}`

/** Names of the secrets that differ between two bundles; empty if nothing was changed or rotated. */
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
    ['the key of service accounts', one.certs.k8sServiceAccount.key, other.certs.k8sServiceAccount.key],
  ]
  return pairs.filter(([, a, b]) => pem(a) !== pem(b)).map(([name]) => name)
}
