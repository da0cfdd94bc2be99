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
 * Creates the objects of Kubernetes' and Talos's controllers: a service account and the authority's certificate in each namespace, the Services of the API
 * server and of the DNS, and Talos's config maps. Call it before each answer; it is cheap if nothing changed.
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

interface Wanted {
  plural: string
  namespace: string
  body: Body
}

const wantedOf = (objects: Objects, machine: Machine): Wanted[] => {
  const { cluster } = machine.config!.node!
  const authority = cluster.ca?.crt ?? ''
  const kubeSystem = 'kube-system'
  const perNamespace = objects
    .list(builtIn('namespaces'), '')
    .map(({ metadata }) => text(object(metadata).name))
    .flatMap((namespace): Wanted[] => [
      { plural: 'serviceaccounts', namespace, body: { metadata: { name: 'default' } } },
      { plural: 'configmaps', namespace, body: { metadata: { name: 'kube-root-ca.crt' }, data: { 'ca.crt': authority } } },
    ])
  const port = (name: string, number: number, protocol = 'TCP', targetPort = number): object => ({ name, port: number, protocol, targetPort })
  const service = (clusterIP: string, ports: object[]): Body => ({ type: 'ClusterIP', clusterIP, clusterIPs: [clusterIP], ipFamilies: ['IPv4'], ports })
  return [
    ...perNamespace,
    {
      plural: 'services',
      namespace: 'default',
      body: {
        metadata: { name: 'kubernetes', labels: { component: 'apiserver', provider: 'kubernetes' } },
        spec: service(addressOf(cluster.serviceSubnet, 1), [port('https', 443, 'TCP', 6443)]),
      },
    },
    {
      plural: 'services',
      namespace: kubeSystem,
      body: {
        metadata: { name: 'kube-dns', labels: { 'k8s-app': 'kube-dns', 'kubernetes.io/cluster-service': 'true', 'kubernetes.io/name': 'CoreDNS' } },
        spec: {
          ...service(addressOf(cluster.serviceSubnet, 10), [port('dns', 53, 'UDP'), port('dns-tcp', 53), port('metrics', 9153)]),
          selector: { 'k8s-app': 'kube-dns' },
        },
      },
    },
    { plural: 'configmaps', namespace: kubeSystem, body: { metadata: { name: 'extension-apiserver-authentication' }, data: { 'client-ca-file': authority } } },
    {
      plural: 'configmaps',
      namespace: kubeSystem,
      body: { metadata: { name: 'kubeconfig-in-cluster' }, data: { kubeconfig: inClusterKubeconfig(cluster.endpoint) } },
    },
  ]
}

/** One of the first 255 addresses of an IPv4 network: Kubernetes uses .1 for its API and Talos .10 for the DNS. */
const addressOf = (cidr: string, number: number): string => {
  const [address = '10.96.0.0'] = cidr.split('/')
  const parts = address.split('.').map(Number)
  parts[3] = (parts[3] ?? 0) + number
  return parts.join('.')
}

/** Talos: internal/app/machined/pkg/controllers/k8s/templates, `kubeconfig-in-cluster`. */
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
