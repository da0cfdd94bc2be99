/** The secrets of a cluster from the configuration of a control plane, which has all of them. */
import { at, readDocuments, textAt } from '../config/tree.ts'
import { type SecretsBundle, readSecrets } from './bundle.ts'
import { stringify } from 'yaml'

/** Fields of a bundle, and where a control plane's configuration has them. Certificates and keys are in base64 in both. */
const places = {
  cluster: { id: 'cluster.id', secret: 'cluster.secret' },
  secrets: {
    bootstraptoken: 'cluster.token',
    aescbcencryptionsecret: 'cluster.aescbcEncryptionSecret',
    secretboxencryptionsecret: 'cluster.secretboxEncryptionSecret',
  },
  trustdinfo: { token: 'machine.token' },
  certs: {
    etcd: { crt: 'cluster.etcd.ca.crt', key: 'cluster.etcd.ca.key' },
    k8s: { crt: 'cluster.ca.crt', key: 'cluster.ca.key' },
    k8saggregator: { crt: 'cluster.aggregatorCA.crt', key: 'cluster.aggregatorCA.key' },
    k8sserviceaccount: { key: 'cluster.serviceAccount.key' },
    os: { crt: 'machine.ca.crt', key: 'machine.ca.key' },
  },
} as const

interface Places {
  readonly [key: string]: string | Places
}

/** @throws Error that names the first missing field; ConfigError for invalid YAML */
export function secretsOfControlPlane(config: string): SecretsBundle {
  const main = readDocuments(config, 'machine').find((root) => at(root, 'machine') !== undefined)
  const fill = (part: Places): Record<string, unknown> =>
    Object.fromEntries(Object.entries(part).map(([key, place]) => [key, typeof place === 'string' ? (textAt(main, ...place.split('.')) ?? '') : fill(place)]))
  return readSecrets(stringify(fill(places)))
}
