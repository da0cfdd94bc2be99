import { isDeepStrictEqual } from 'node:util'
import type { NodeConfig } from '../config/node-config.ts'
import type { EtcdCluster } from '../cluster/etcd.ts'
import { type Body, object, text } from '../config/shape.ts'
import type { Machine } from '../machine/machine.ts'
import { BUILT_IN, builtIn } from './kinds.ts'
import { manifestsOf } from './manifests.ts'
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
  ...Object.entries(ROLES).map(([name, rules]) => ({
    plural: 'clusterroles',
    body: { metadata: { name }, rules },
  })),
  {
    plural: 'clusterrolebindings',
    body: {
      metadata: { name: 'cluster-admin' },
      roleRef: {
        apiGroup: 'rbac.authorization.k8s.io',
        kind: 'ClusterRole',
        name: 'cluster-admin',
      },
      subjects: [{ kind: 'Group', apiGroup: 'rbac.authorization.k8s.io', name: 'system:masters' }],
    },
  },
]

const settledAt = new WeakMap<EtcdCluster, { config: Machine['config']; version: string }>()
/** Config maps with the authorities. The controller manager publishes them again after a change. */
const PUBLISHED = new Set(['kube-root-ca.crt', 'extension-apiserver-authentication'])

/**
 * Creates what Kubernetes' and Talos's controllers create: a service account and the authority's
 * certificate in each namespace, the Services of the API server and of the DNS, and Talos's
 * manifests. The configuration is that of the control plane with the elected controller manager.
 * Call this before each response; it is cheap if nothing has changed.
 */
export const settle = (objects: Objects, cluster: EtcdCluster, machine: Machine): void => {
  const leader = (cluster.leader && cluster.machineOf(cluster.leader)) ?? machine
  const { config } = leader
  const settled = settledAt.get(cluster)
  if (!config?.node || (settled?.config === config && settled.version === objects.resourceVersion))
    return
  const changes = wantedOf(objects, leader).flatMap(({ plural, namespace, body: given }) => {
    const body: Body = given
    const target = { kind: builtIn(plural), namespace, name: text(object(body.metadata).name) }
    if (!objects.has(target))
      return [() => objects.create(target.kind, namespace, body, 'kube-controller-manager')]
    const isOutdated =
      PUBLISHED.has(target.name) && !isDeepStrictEqual(objects.get(target).data, body.data)
    return isOutdated ? [() => objects.replace(target, body, 'kube-controller-manager')] : []
  })
  if (changes.length > 0) objects.together(() => changes.forEach((change) => change()))
  settledAt.set(cluster, { config, version: objects.resourceVersion })
}

/**
 * Every authority that the control plane accepts, first the one that issues certificates (Talos:
 * controllers/k8s/render_secrets_static_pod.go).
 */
const authoritiesOf = ({ ca, acceptedCas }: NodeConfig['cluster']): string =>
  [ca?.crt ?? '', ...acceptedCas]
    .map((pem) => pem.trimEnd())
    .join('\n')
    .concat('\n')

const wantedOf = (objects: Objects, machine: Machine) => {
  const { cluster } = machine.config!.node!
  const wanted = (
    plural: string,
    namespace: string,
    name: string,
    fields: Body = {},
    labels?: Record<string, string>,
  ) => {
    return { plural, namespace, body: { metadata: { name, ...(labels && { labels }) }, ...fields } }
  }
  const port = (name: string, number: number, protocol = 'TCP', targetPort = number): object => ({
    name,
    port: number,
    protocol,
    targetPort,
  })
  const service = (number: number, ports: object[]): Body => {
    const clusterIP = addressOf(cluster.serviceSubnet, number)
    return { type: 'ClusterIP', clusterIP, clusterIPs: [clusterIP], ipFamilies: ['IPv4'], ports }
  }
  const dns = {
    ...service(10, [port('dns', 53, 'UDP'), port('dns-tcp', 53), port('metrics', 9153)]),
    selector: { 'k8s-app': 'kube-dns' },
  }
  const dnsLabels = {
    'k8s-app': 'kube-dns',
    'kubernetes.io/cluster-service': 'true',
    'kubernetes.io/name': 'CoreDNS',
  }
  return [
    ...objects
      .list(builtIn('namespaces'), '')
      .map(({ metadata }) => text(object(metadata).name))
      .flatMap((namespace) => [
        wanted('serviceaccounts', namespace, 'default'),
        wanted('configmaps', namespace, 'kube-root-ca.crt', {
          data: { 'ca.crt': cluster.ca?.crt ?? '' },
        }),
      ]),
    wanted(
      'services',
      'default',
      'kubernetes',
      { spec: service(1, [port('https', 443, 'TCP', 6443)]) },
      { component: 'apiserver', provider: 'kubernetes' },
    ),
    wanted('services', 'kube-system', 'kube-dns', { spec: dns }, dnsLabels),
    wanted('configmaps', 'kube-system', 'extension-apiserver-authentication', {
      data: { 'client-ca-file': authoritiesOf(cluster) },
    }),
    ...manifestsOf(machine).flatMap(({ objects: installed }) =>
      installed.map(({ apiVersion: _apiVersion, kind, ...body }) => ({
        plural: BUILT_IN.find((candidate) => candidate.kind === kind)!.plural,
        namespace: text(object(body.metadata).namespace),
        body,
      })),
    ),
  ]
}

/**
 * One of the first 255 addresses of an IPv4 network: Kubernetes uses .1 for its API and Talos .10
 * for the DNS.
 */
export const addressOf = (cidr: string, number: number): string => {
  const [address = '10.96.0.0'] = cidr.split('/')
  const parts = address.split('.').map(Number)
  parts[3] = (parts[3] ?? 0) + number
  return parts.join('.')
}
