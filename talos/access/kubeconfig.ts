import { stringify } from 'yaml'
import type { Credentials } from '../pki/clients.ts'

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
