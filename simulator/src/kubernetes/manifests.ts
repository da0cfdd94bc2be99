import type { NodeConfig } from '../config/node-config.ts'
import { releaseOf } from '../config/versions.ts'
import type { Body } from '../config/shape.ts'
import type { Machine } from '../machine/machine.ts'

/**
 * The settings of a configuration for the manifests that Talos installs (Talos:
 * controllers/k8s/control_plane.go, NewControlPlaneBootstrapManifestsController).
 */
export const bootstrapSettings = ({ config, talosMinor }: Machine) => {
  const { endpoint, dnsDomain, proxy, coreDns, cni, apiServerVersion } = config!.node!.cluster
  const { coreDns: coreDnsVersion, flannel: flannelVersion } = releaseOf(talosMinor)
  return {
    server: endpoint,
    clusterDomain: dnsDomain,
    proxyEnabled: proxy.isEnabled,
    proxyImage: proxy.image || `registry.k8s.io/kube-proxy:${apiServerVersion}`,
    coreDnsEnabled: coreDns.isEnabled,
    coreDnsImage: coreDns.image || `registry.k8s.io/coredns/coredns:${coreDnsVersion}`,
    flannelEnabled: cni === 'flannel',
    flannelImage: `ghcr.io/siderolabs/flannel:${flannelVersion}`,
    cniName: cni,
  }
}

export interface Manifest {
  name: string
  objects: Body[]
}

const TOLERATE_ALL = ['NoSchedule', 'NoExecute'].map((effect) => ({ effect, operator: 'Exists' }))

/**
 * The manifests that a control plane installs into its cluster, with Talos's names (Talos:
 * controllers/k8s/manifest.go). They contain what the simulation uses, not every field.
 */
export const manifestsOf = (machine: Machine): Manifest[] => {
  const settings = bootstrapSettings(machine)
  const { cluster } = machine.config!.node!
  return [
    { name: '00-kubelet-bootstrapping-token', objects: [bootstrapToken(cluster.token)] },
    {
      name: '11-kube-config-in-cluster',
      objects: [
        configMap('kubeconfig-in-cluster', { kubeconfig: inClusterKubeconfig(cluster.endpoint) }),
      ],
    },
    ...(settings.coreDnsEnabled
      ? [{ name: '11-core-dns', objects: [serviceAccount('coredns'), coreDns(settings)] }]
      : []),
    ...(settings.flannelEnabled
      ? [{ name: '05-flannel', objects: [serviceAccount('flannel'), flannel(settings)] }]
      : []),
    ...(settings.proxyEnabled
      ? [{ name: '10-kube-proxy', objects: [kubeProxy(settings), serviceAccount('kube-proxy')] }]
      : []),
    ...inline(machine),
  ].toSorted((one, other) => (one.name < other.name ? -1 : 1))
}

type Settings = ReturnType<typeof bootstrapSettings>

const metadata = (name: string, labels: Body = {}): Body => ({
  name,
  namespace: 'kube-system',
  ...(Object.keys(labels).length > 0 && { labels }),
})
const serviceAccount = (name: string): Body => ({
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  metadata: metadata(name),
})
const configMap = (name: string, data: Body): Body => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: metadata(name),
  data,
})

/**
 * The token with which new kubelets request their certificates (Talos: k8stemplates/kubelet.go).
 */
const bootstrapToken = (token: NodeConfig['cluster']['token']): Body => {
  const [id = '', secret = ''] = token.split('.')
  const encoded = (value: string): string => Buffer.from(value).toString('base64')
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: metadata(`bootstrap-token-${id}`),
    type: 'bootstrap.kubernetes.io/token',
    data: {
      'token-id': encoded(id),
      'token-secret': encoded(secret),
      'usage-bootstrap-authentication': encoded('true'),
      'auth-extra-groups': encoded('system:bootstrappers:nodes'),
    },
  }
}

const kubeProxy = ({ proxyImage }: Settings): Body => {
  const labels = { tier: 'node', 'k8s-app': 'kube-proxy' }
  return daemonSet('kube-proxy', labels, {
    containers: [{ name: 'kube-proxy', image: proxyImage, command: ['/usr/local/bin/kube-proxy'] }],
  })
}

const flannel = ({ flannelImage }: Settings): Body => {
  const labels = { tier: 'node', 'k8s-app': 'flannel' }
  return daemonSet('kube-flannel', labels, {
    containers: [{ name: 'kube-flannel', image: flannelImage, command: ['/opt/bin/flanneld'] }],
  })
}

const daemonSet = (name: string, labels: Body, spec: Body): Body => ({
  apiVersion: 'apps/v1',
  kind: 'DaemonSet',
  metadata: metadata(name, labels),
  spec: {
    selector: { matchLabels: labels },
    updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1 } },
    template: {
      metadata: { labels },
      spec: {
        ...spec,
        hostNetwork: true,
        priorityClassName: 'system-node-critical',
        serviceAccountName: name,
        tolerations: TOLERATE_ALL,
      },
    },
  },
})

const coreDns = ({ coreDnsImage }: Settings): Body => {
  const labels = { 'k8s-app': 'kube-dns', 'kubernetes.io/name': 'CoreDNS' }
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: metadata('coredns', labels),
    spec: {
      replicas: 2,
      selector: { matchLabels: { 'k8s-app': 'kube-dns' } },
      template: {
        metadata: { labels: { 'k8s-app': 'kube-dns' } },
        spec: {
          containers: [
            { name: 'coredns', image: coreDnsImage, args: ['-conf', '/etc/coredns/Corefile'] },
          ],
          priorityClassName: 'system-cluster-critical',
          serviceAccountName: 'coredns',
          tolerations: [
            {
              key: 'node-role.kubernetes.io/control-plane',
              operator: 'Exists',
              effect: 'NoSchedule',
            },
          ],
        },
      },
    },
  }
}

/**
 * Manifests of the configuration come after Talos's own (Talos: controllers/k8s/extra_manifest.go).
 * They aren't parsed here.
 */
const inline = ({ config }: Machine): Manifest[] =>
  config!.node!.cluster.manifests.map(({ name }) => ({ name: `99-${name}`, objects: [] }))

/**
 * The kubeconfig for use inside the cluster (Talos:
 * internal/app/machined/pkg/controllers/k8s/templates, `kubeconfig-in-cluster`).
 */
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
