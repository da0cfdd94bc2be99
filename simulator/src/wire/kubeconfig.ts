import { stringify } from 'yaml'
import type { Machine } from '../machine/machine.ts'
import { issue } from './certificates.ts'

const YEAR_MS = 365 * 24 * 3_600_000

/** Generates an admin kubeconfig from the cluster's Kubernetes authority (Talos: pkg/kubeconfig/generate.go). */
export const adminKubeconfig = async (machine: Machine): Promise<string> => {
  const { cluster } = machine.config!.node!
  const { crt, key } = await issue(cluster.ca!, {
    commonName: 'admin',
    organizations: ['system:masters'],
    usages: ['clientAuth'],
    lifetimeMs: YEAR_MS,
    now: machine.world.clock.now(),
  })
  const user = `admin@${cluster.name}`
  const base64 = (text: string): string => Buffer.from(text).toString('base64')
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: cluster.name, cluster: { server: cluster.endpoint, 'certificate-authority-data': base64(cluster.ca!.crt) } }],
    users: [{ name: user, user: { 'client-certificate-data': base64(crt), 'client-key-data': base64(key) } }],
    contexts: [{ context: { cluster: cluster.name, namespace: 'default', user }, name: user }],
    'current-context': user,
  })
}
