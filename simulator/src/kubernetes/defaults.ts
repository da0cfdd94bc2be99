import type { EtcdCluster } from '../cluster/etcd.ts'
import { type Body, object, text } from '../config/shape.ts'
import type { Machine } from '../machine/machine.ts'
import { builtIn } from './kinds.ts'
import type { Objects } from './objects.ts'

const NAMESPACES = ['default', 'kube-system', 'kube-public', 'kube-node-lease']
const ROLES: Readonly<Record<string, readonly object[]>> = {
  'cluster-admin': [
    { apiGroups: ['*'], resources: ['*'], verbs: ['*'] },
    { nonResourceURLs: ['*'], verbs: ['*'] },
  ],
  view: [{ apiGroups: ['*'], resources: ['*'], verbs: ['get', 'list', 'watch'] }],
}

/** Objects that the API server creates in a new cluster. */
export const FIRST_OBJECTS: readonly { plural: string; body: Body }[] = [
  ...NAMESPACES.map((name) => ({ plural: 'namespaces', body: { metadata: { name } } })),
  ...Object.entries(ROLES).map(([name, rules]) => ({ plural: 'clusterroles', body: { metadata: { name }, rules } })),
  {
    plural: 'clusterrolebindings',
    body: {
      metadata: { name: 'cluster-admin' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
      subjects: [{ kind: 'Group', apiGroup: 'rbac.authorization.k8s.io', name: 'system:masters' }],
    },
  },
]

const settledAt = new WeakMap<EtcdCluster, string>()

/**
 * Creates what Kubernetes' and Talos's controllers create: a service account and the authority's certificate in each namespace, the Services of the API
 * server and of the DNS, and Talos's config maps. Call this before each response; it is cheap if nothing has changed.
 */
export const settle = (objects: Objects, cluster: EtcdCluster, machine: Machine): void => {
  if (settledAt.get(cluster) === objects.resourceVersion) return
  const wanted = wantedOf(objects, machine).filter(({ plural, namespace, body }) => {
    const name = text(object(body.metadata).name)
    return !objects.has({ kind: builtIn(plural), namespace, name })
  })
  if (wanted.length > 0)
    objects.together(() => {
      for (const { plural, namespace, body } of wanted) objects.create(builtIn(plural), namespace, body, 'kube-controller-manager')
    })
  settledAt.set(cluster, objects.resourceVersion)
}

const wantedOf = (objects: Objects, machine: Machine) => {
  const { cluster } = machine.config!.node!
  const authority = cluster.ca?.crt ?? ''
  const wanted = (plural: string, namespace: string, name: string, fields: Body = {}, labels?: Record<string, string>) => {
    return { plural, namespace, body: { metadata: { name, ...(labels && { labels }) }, ...fields } }
  }
  const port = (name: string, number: number, protocol = 'TCP', targetPort = number): object => ({ name, port: number, protocol, targetPort })
  const service = (number: number, ports: object[]): Body => {
    const clusterIP = addressOf(cluster.serviceSubnet, number)
    return { type: 'ClusterIP', clusterIP, clusterIPs: [clusterIP], ipFamilies: ['IPv4'], ports }
  }
  const dns = { ...service(10, [port('dns', 53, 'UDP'), port('dns-tcp', 53), port('metrics', 9153)]), selector: { 'k8s-app': 'kube-dns' } }
  const dnsLabels = { 'k8s-app': 'kube-dns', 'kubernetes.io/cluster-service': 'true', 'kubernetes.io/name': 'CoreDNS' }
  return [
    ...objects
      .list(builtIn('namespaces'), '')
      .map(({ metadata }) => text(object(metadata).name))
      .flatMap((namespace) => [
        wanted('serviceaccounts', namespace, 'default'),
        wanted('configmaps', namespace, 'kube-root-ca.crt', { data: { 'ca.crt': authority } }),
      ]),
    wanted('services', 'default', 'kubernetes', { spec: service(1, [port('https', 443, 'TCP', 6443)]) }, { component: 'apiserver', provider: 'kubernetes' }),
    wanted('services', 'kube-system', 'kube-dns', { spec: dns }, dnsLabels),
    wanted('configmaps', 'kube-system', 'extension-apiserver-authentication', { data: { 'client-ca-file': authority } }),
    wanted('configmaps', 'kube-system', 'kubeconfig-in-cluster', { data: { kubeconfig: inClusterKubeconfig(cluster.endpoint) } }),
  ]
}

/** One of the first 255 addresses of an IPv4 network: Kubernetes uses .1 for its API and Talos .10 for the DNS. */
export const addressOf = (cidr: string, number: number): string => {
  const [address = '10.96.0.0'] = cidr.split('/')
  const parts = address.split('.').map(Number)
  parts[3] = (parts[3] ?? 0) + number
  return parts.join('.')
}

/** The kubeconfig for use inside the cluster (Talos: internal/app/machined/pkg/controllers/k8s/templates, `kubeconfig-in-cluster`). */
const inClusterKubeconfig = (endpoint: string): string => `apiVersion: v1
kind: Config
clusters:
- name: local
  cluster:
    server: ${endpoint}
    certificate-authority: /var/run/secrets/kubernetes.io/serviceaccount/ca.crt
users:
- name: service-account
  user:
    tokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token
contexts:
- context:
    cluster: local
    user: service-account
`
