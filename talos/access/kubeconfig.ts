import { stringify } from 'yaml'
import type { Credentials } from '../pki/clients.ts'
import { decodedPem, mapAt, textOf, yaml } from './reading.ts'

/**
 * A kubeconfig with one cluster and one user, named as Talos names them: user and context are `<user>@<cluster>`
 * (Talos `pkg/kubeconfig/generate.go`). `server` is the endpoint's URL.
 */
export function kubeconfig(options: Credentials & { cluster: string; server: string; user: string }): string {
  const name = `${options.user}@${options.cluster}`
  const encode = (pem: string) => Buffer.from(pem).toString('base64')
  return stringify(
    {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: options.cluster, cluster: { server: options.server, 'certificate-authority-data': encode(options.ca) } }],
      users: [{ name, user: { 'client-certificate-data': encode(options.crt), 'client-key-data': encode(options.key) } }],
      contexts: [{ name, context: { cluster: options.cluster, namespace: 'default', user: name } }],
      'current-context': name,
    },
    { indent: 4, lineWidth: 0 },
  )
}

/** Authorities and server of the current context of a kubeconfig. Throws an Error with a sentence for the user. */
export function readKubeconfig(text: string): { server: string; ca: string } {
  const root = yaml(text, 'kubeconfig')
  const named = (list: unknown, name: string | undefined): Readonly<Record<string, unknown>> | undefined =>
    Array.isArray(list)
      ? (list as unknown[]).map((item) => ({ item: item as Record<string, unknown> })).find(({ item }) => name === undefined || textOf(item?.['name']) === name)
          ?.item
      : undefined
  const context = mapAt(named(root['contexts'], textOf(root['current-context'])), 'context')
  const cluster = mapAt(named(root['clusters'], textOf(context?.['cluster'])), 'cluster')
  if (!cluster) throw new Error('The kubeconfig has no cluster')
  return {
    server: textOf(cluster['server']) ?? '',
    ca: decodedPem(textOf(cluster['certificate-authority-data']), 'The kubeconfig has no certificate-authority-data'),
  }
}
