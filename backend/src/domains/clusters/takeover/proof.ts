/** What proves that a cluster is somebody's own, as it was handed in: read, before any machine is asked. */
import { Problem } from '#contract/errors.ts'
import { readKubeconfig } from '#talos/access/kubeconfig.ts'
import { readTalosconfig } from '#talos/access/talosconfig.ts'
import { ConfigError } from '#talos/config/tree.ts'
import { type Credentials, mintTalosClient } from '#talos/pki/clients.ts'
import { readSecrets, type SecretsBundle } from '#talos/secrets/bundle.ts'
import { secretsOfControlPlane } from '#talos/secrets/from-config.ts'

export interface Handed {
  readonly secrets?: string | undefined
  readonly talosconfig?: string | undefined
  readonly kubeconfig?: string | undefined
}

export interface Proof {
  /** Null where it has to be read from a control plane. */
  readonly bundle: SecretsBundle | null
  readonly credentials: Credentials
  /** Of the talosconfig. */
  readonly endpoints: readonly string[]
  /** Authority of the kubeconfig, PEM; null where none was handed in. */
  readonly kubernetesCa: string | null
}

const lifetimeMs = 3_600_000
const invalid = (field: string, sentence: string) => new Problem('invalid', sentence, { [field]: sentence })

/** What a reader throws for text that isn't what it should be says why; it never holds a secret. */
function read<T>(field: string, act: () => T): T {
  try {
    return act()
  } catch (error) {
    const why = error instanceof ConfigError ? (error.problems[0]?.message ?? 'it can not be read') : error instanceof Error ? error.message : String(error)
    throw invalid(field, why.split('\n', 1)[0]!.slice(0, 200))
  }
}

/** The files that people mix up, by the keys that only the one has at its top. */
const marks: readonly (readonly [string, RegExp])[] = [
  // A kubeconfig has contexts as well, so it comes before the talosconfig.
  ['a kubeconfig', /^kind:[ \t]*Config[ \t]*$/m],
  ['a talosconfig', /^contexts:[ \t]*$/m],
  ['a secrets bundle', /^(?:trustdinfo|certs):/m],
  ['a machine configuration', /^machine:/m],
]
const wanted = { secrets: 'a secrets bundle', talosconfig: 'a talosconfig', kubeconfig: 'a kubeconfig' } as const

/** Says which file was handed in where it is another one than the field asks for. @throws Problem `invalid` */
function demandKind(field: keyof typeof wanted, text: string): void {
  const found = marks.find(([, mark]) => mark.test(text))?.[0]
  if (found !== undefined && found !== wanted[field]) throw invalid(field, `This is ${found}, not ${wanted[field]}`)
}

/** @throws Problem `invalid` with the field */
export async function readProof({ secrets, talosconfig, kubeconfig }: Handed, now: Date): Promise<Proof> {
  for (const [field, text] of Object.entries({ secrets, talosconfig, kubeconfig })) if (text !== undefined) demandKind(field as keyof typeof wanted, text)
  const kubernetesCa = kubeconfig === undefined ? null : read('kubeconfig', () => readKubeconfig(kubeconfig)).ca
  if (secrets !== undefined) {
    const bundle = read('secrets', () => readSecrets(secrets))
    const credentials = await mintTalosClient(bundle, { roles: ['os:admin'], lifetimeMs, now }).catch(() => {
      throw invalid('secrets', "Secrets: the key of Talos's authority (certs.os) does not fit its certificate")
    })
    return { bundle, credentials, endpoints: [], kubernetesCa }
  }
  const { ca, crt, key, endpoints } = read('talosconfig', () => readTalosconfig(talosconfig ?? ''))
  return { bundle: null, credentials: { ca, crt, key }, endpoints, kubernetesCa }
}

/** Of a control plane's configuration. @throws Problem `invalid` */
export const bundleOf = (config: string, name: string): SecretsBundle =>
  read('talosconfig', () => {
    try {
      return secretsOfControlPlane(config)
    } catch (error) {
      throw new Error(`The configuration of ${name} does not hold all secrets of its cluster. ${error instanceof Error ? error.message : ''}`.trim(), {
        cause: error,
      })
    }
  })

const encryptionKeys = ({ secrets }: SecretsBundle): string => `${secrets.secretboxEncryptionSecret ?? ''} ${secrets.aescbcEncryptionSecret ?? ''}`

/** Names of what differs, for people; empty where both are of one cluster at one time. */
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
