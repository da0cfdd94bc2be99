/**
 * The documents beside the main one that Talos generates since 1.14, in its order (Talos
 * `pkg/machinery/config/generate/init.go`, `worker.go` and `kubernetes.go`).
 */
import type { SecretsBundle } from '../secrets/bundle.ts'
import { images } from '../versions.ts'
import type { GenerateInput } from './generate.ts'

/** The admission plugin of a new cluster. */
export const podSecurity = {
  name: 'PodSecurity',
  configuration: {
    apiVersion: 'pod-security.admission.config.k8s.io/v1alpha1',
    defaults: {
      audit: 'restricted',
      'audit-version': 'latest',
      enforce: 'baseline',
      'enforce-version': 'latest',
      warn: 'restricted',
      'warn-version': 'latest',
    },
    exemptions: { namespaces: ['kube-system'], runtimeClasses: [], usernames: [] },
    kind: 'PodSecurityConfiguration',
  },
}

export const auditPolicy = {
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  rules: [{ level: 'Metadata' }],
}

/** Health paths that answer without credentials; all other requests need them. */
const authentication = {
  anonymous: {
    conditions: ['/livez', '/readyz', '/healthz'].map((path) => ({ path })),
    enabled: true,
  },
  jwt: [],
}

const controlPlaneLabel = 'node-role.kubernetes.io/control-plane'

type Document = Record<string, unknown>
const document = (kind: string, fields: Document): Document => ({
  apiVersion: 'v1alpha1',
  kind,
  ...fields,
})

export function documentsBesideMain(input: GenerateInput): Document[] {
  const { secrets, installDisk } = input
  return [
    document('DiscoveryServiceConfig', {
      name: 'default',
      endpoint: 'https://discovery.talos.dev/',
    }),
    document('DiscoveryIdentityConfig', {
      clusterID: secrets.cluster.id,
      clusterSecret: secrets.cluster.secret,
    }),
    ...(installDisk
      ? [
          document('UnattendedInstallConfig', {
            installer: input.installImage ? { image: input.installImage } : {},
            provisioning: {
              diskSelector: { match: `disk.dev_path == ${JSON.stringify(installDisk)}` },
              wipe: false,
            },
          }),
        ]
      : []),
    document('ResolverConfig', { hostDNS: { enabled: true, forwardKubeDNSToHost: true } }),
    document('VolumeConfig', { name: 'EPHEMERAL', mount: { secure: true } }),
    document('FilesystemTrimConfig', { interval: '168h0m0s' }),
    document('SecurityProfileConfig', { workloadIsolation: true }),
    document('HostnameConfig', { auto: 'stable' }),
    ...kubernetesOfAll(input),
    ...(input.role === 'control_plane' ? kubernetesOfControlPlane(input) : []),
  ]
}

function kubernetesOfAll(input: GenerateInput): Document[] {
  const { certs } = input.secrets
  const isControlPlane = input.role === 'control_plane'
  return [
    document('KubeClusterConfig', { clusterName: input.clusterName, endpoint: input.endpoint }),
    // Talos takes the labels and taints as they are, unlike those of the main document.
    document('KubeNodeConfig', {
      nodeIP: {},
      labels: isControlPlane
        ? {
            [controlPlaneLabel]: '',
            'node.kubernetes.io/exclude-from-external-load-balancers': '',
          }
        : undefined,
      taints:
        isControlPlane && input.allowSchedulingOnControlPlanes !== true
          ? { [controlPlaneLabel]: 'NoSchedule' }
          : undefined,
    }),
    document('KubeletConfig', {
      image: images.kubelet(input.kubernetesVersion),
      config: {},
      defaultRuntimeSeccompProfileEnabled: true,
    }),
    document('KubeNetworkConfig', {
      dnsDomain: input.dnsDomain ?? 'cluster.local',
      podSubnets: [input.podCidr ?? '10.244.0.0/16'],
      serviceSubnets: [input.serviceCidr ?? '10.96.0.0/12'],
    }),
    // A worker gets only the certificate: a stolen worker must not give control of the cluster.
    document(
      'KubeAPIServerCAConfig',
      isControlPlane
        ? { issuingCA: { cert: certs.k8s.crt, key: certs.k8s.key } }
        : { acceptedCAs: [certs.k8s.crt] },
    ),
    document('KubePrismConfig', { port: 7445 }),
  ]
}

function kubernetesOfControlPlane(input: GenerateInput): Document[] {
  const { endpoint, kubernetesVersion, secrets } = input
  const { k8sAggregator, k8sServiceAccount } = secrets.certs
  const sans = [...(input.additionalSans ?? [])]
  return [
    document('KubeAggregatorCAConfig', {
      issuingCA: { cert: k8sAggregator.crt, key: k8sAggregator.key },
    }),
    document('KubeAdmissionControlConfig', podSecurity),
    document('KubeAuditPolicyConfig', { configuration: auditPolicy }),
    document('KubeAuthenticationConfig', { configuration: authentication }),
    document('KubeAuthorizerConfig', { name: 'node', type: 'Node' }),
    document('KubeAuthorizerConfig', { name: 'rbac', type: 'RBAC' }),
    document('KubeEtcdEncryptionConfig', { config: etcdEncryption(secrets) }),
    document('KubeServiceAccountConfig', {
      issuer: { privateKey: k8sServiceAccount.key, issuerURL: endpoint },
    }),
    document('KubeAPIServerConfig', {
      image: images.apiServer(kubernetesVersion),
      certExtraSANs: sans.length === 0 ? undefined : sans,
    }),
    document('KubeControllerManagerConfig', { image: images.controllerManager(kubernetesVersion) }),
    document('KubeSchedulerConfig', { image: images.scheduler(kubernetesVersion), config: {} }),
    document('KubeProxyConfig', { image: images.proxy(kubernetesVersion), config: {} }),
    document('KubeFlannelCNIConfig', { backendType: 'vxlan', backendPort: 4789 }),
    document('KubeCoreDNSConfig', { enabled: true }),
  ]
}

/**
 * Kubernetes' EncryptionConfiguration: the first provider encrypts, the others only decrypt. A
 * bundle with an AES-CBC key is of an older cluster, which has objects that are encrypted with it
 * or not encrypted; it gets the providers of Talos's old path
 * (`k8stemplates/apiserver.go`). Talos's generator differs there: it writes the AES-CBC key as a
 * secretbox key and no `identity`, so that these objects can't be read.
 */
function etcdEncryption({ secrets }: SecretsBundle): Document {
  const { aescbcEncryptionSecret, secretboxEncryptionSecret } = secrets
  const provider = (kind: string, name: string, secret: string | undefined) =>
    secret === undefined ? [] : [{ [kind]: { keys: [{ name, secret }] } }]
  return {
    resources: [
      {
        providers: [
          ...provider('secretbox', 'key2', secretboxEncryptionSecret),
          ...provider('aescbc', 'key1', aescbcEncryptionSecret),
          ...(aescbcEncryptionSecret === undefined ? [] : [{ identity: {} }]),
        ],
        resources: ['secrets'],
      },
    ],
  }
}
