import type { Loaded } from './load.ts'
import { settingsOf } from './settings.ts'
import { type Body, isObject, list, object, text } from './shape.ts'

/**
 * What a document refuses to find in the main document (Talos: V1Alpha1ConflictValidate of each
 * kind). A section that is there conflicts even if it is empty. Authorizers, manifests, static
 * pods, accepted authorities, kernel parameters and modules conflict with nothing: Talos uses both
 * homes, or ignores the main document's.
 */
interface Conflict {
  kinds: readonly string[]
  isIn: (main: { machine: Body; cluster: Body }) => boolean
  message: string
}

const section = (...path: readonly string[]): Conflict['isIn'] => {
  const [top, ...keys] = path as ['machine' | 'cluster', ...string[]]
  return (main) => {
    const last = keys.at(-1)!
    const parent = keys.slice(0, -1).reduce((at, key) => object(at[key]), main[top])
    return parent[last] !== undefined && parent[last] !== null
  }
}
const value =
  (...path: readonly string[]): Conflict['isIn'] =>
  (main) => {
    const [top, ...keys] = path as ['machine' | 'cluster', ...string[]]
    const parent = keys.slice(0, -1).reduce((at, key) => object(at[key]), main[top])
    const found = parent[keys.at(-1)!]
    return isObject(found) ? Object.keys(found).length > 0 : text(found) !== '' && found !== false
  }

const either =
  (...all: Conflict['isIn'][]): Conflict['isIn'] =>
  (main) =>
    all.some((isIn) => isIn(main))

const CONFLICTS: readonly Conflict[] = [
  {
    kinds: ['HostnameConfig'],
    isIn: value('machine', 'network', 'hostname'),
    message: 'static hostname is already set in v1alpha1 config',
  },
  {
    kinds: ['HostnameConfig'],
    isIn: value('machine', 'features', 'stableHostname'),
    message: 'stable hostname is already set in v1alpha1 config',
  },
  {
    kinds: ['DiscoveryServiceConfig'],
    isIn: section('cluster', 'discovery'),
    message: 'discovery service is already configured in .cluster.discovery of the v1alpha1 config',
  },
  {
    kinds: ['DiscoveryIdentityConfig'],
    isIn: either(value('cluster', 'id'), value('cluster', 'secret')),
    message:
      'cluster identity is already configured in .cluster.id/.cluster.secret of the v1alpha1 config',
  },
  {
    kinds: ['UnattendedInstallConfig'],
    isIn: section('machine', 'install'),
    message:
      'UnattendedInstallConfig config is incompatible with v1alpha1 config (.machine.install)',
  },
  {
    kinds: ['KubeClusterConfig'],
    isIn: value('cluster', 'clusterName'),
    message:
      'cluster name is already set in the v1alpha1 config (.cluster.clusterName). Please remove it and use only the new KubeClusterConfig document to avoid conflicts',
  },
  {
    kinds: ['KubeClusterConfig'],
    isIn: value('cluster', 'controlPlane', 'endpoint'),
    message:
      'cluster endpoint is already set in the v1alpha1 config (.cluster.controlPlane.endpoint). Please remove it and use only the new KubeClusterConfig document to avoid conflicts',
  },
  {
    kinds: ['KubeAPIServerConfig'],
    isIn: section('cluster', 'apiServer'),
    message: 'kube-apiserver config is already set in v1alpha1 config (.cluster.apiServer)',
  },
  {
    kinds: ['KubeAPIServerConfig'],
    isIn: section('cluster', 'controlPlane', 'localAPIServerPort'),
    message:
      'kube-apiserver API port is already set in v1alpha1 config (.cluster.controlPlane.localAPIServerPort)',
  },
  {
    kinds: ['KubeAPIServerCAConfig'],
    isIn: section('cluster', 'ca'),
    message: 'kube-apiserver CA is already set in v1alpha1 config (.cluster.ca)',
  },
  {
    kinds: ['KubeAggregatorCAConfig'],
    isIn: section('cluster', 'aggregatorCA'),
    message:
      'kube-apiserver aggregator CA is already set in v1alpha1 config (.cluster.aggregatorCA), please remove it and use the new KubeAggregatorCAConfig document instead',
  },
  {
    kinds: ['KubeServiceAccountConfig'],
    isIn: section('cluster', 'serviceAccount'),
    message: 'service account is already set in v1alpha1 config (.cluster.serviceAccount)',
  },
  {
    kinds: ['KubeEtcdEncryptionConfig'],
    isIn: either(
      value('cluster', 'secretboxEncryptionSecret'),
      value('cluster', 'aescbcEncryptionSecret'),
    ),
    message: 'etcd encryption config is already set in v1alpha1 config',
  },
  {
    // Talos's check of authorizers looks at the plugins of admission control.
    kinds: ['KubeAdmissionControlConfig', 'KubeAuthorizerConfig'],
    isIn: ({ cluster }) => list(object(cluster.apiServer).admissionControl).length > 0,
    message: 'admission control plugin config is already set in v1alpha1 config',
  },
  {
    kinds: ['KubeAuditPolicyConfig'],
    isIn: value('cluster', 'apiServer', 'auditPolicy'),
    message: 'audit policy config is already set in v1alpha1 config',
  },
  {
    kinds: ['KubeControllerManagerConfig'],
    isIn: section('cluster', 'controllerManager'),
    message:
      'kube-controller-manager config is already set in v1alpha1 config (.cluster.controllerManager)',
  },
  {
    kinds: ['KubeControllerManagerConfig'],
    isIn: section('machine', 'controlPlane', 'controllerManager'),
    message:
      'kube-controller-manager config is already set in v1alpha1 config (.machine.controlplane.controllerManager)',
  },
  {
    kinds: ['KubeSchedulerConfig'],
    isIn: section('cluster', 'scheduler'),
    message: 'kube-scheduler config is already set in v1alpha1 config (.cluster.scheduler)',
  },
  {
    kinds: ['KubeSchedulerConfig'],
    isIn: section('machine', 'controlPlane', 'scheduler'),
    message:
      'kube-scheduler config is already set in v1alpha1 config (.machine.controlplane.scheduler)',
  },
  {
    kinds: ['KubeProxyConfig'],
    isIn: section('cluster', 'proxy'),
    message:
      "cluster proxy config in v1alpha1 config (.machine.cluster.proxy) can't be used with KubeProxyConfig document, please remove it to avoid conflicts",
  },
  {
    kinds: ['KubeCoreDNSConfig'],
    isIn: section('cluster', 'coreDNS'),
    message: 'CoreDNS config is already set in v1alpha1 config (.cluster.coreDNS)',
  },
  {
    kinds: ['KubeNetworkConfig'],
    isIn: section('cluster', 'network'),
    message:
      'cluster network config is already set in the v1alpha1 config (.machine.cluster.network). Please remove it and use only the new KubeNetworkConfig document to avoid conflicts',
  },
  {
    kinds: ['KubeFlannelCNIConfig'],
    isIn: section('cluster', 'network'),
    message:
      "cluster network config in v1alpha1 config (.machine.cluster.network) can't be used with KubeFlannelCNIConfig document, please remove it to avoid conflicts",
  },
  ...(
    [
      ['cluster', 'allowSchedulingOnControlPlanes'],
      ['cluster', 'allowSchedulingOnMasters'],
      ['machine', 'kubelet', 'skipNodeRegistration'],
      ['machine', 'kubelet', 'registerWithFQDN'],
      ['machine', 'kubelet', 'nodeIP'],
      ['machine', 'nodeLabels'],
      ['machine', 'nodeAnnotations'],
      ['machine', 'nodeTaints'],
    ] as const
  ).map((path) => ({
    kinds: ['KubeNodeConfig'],
    isIn: section(...path),
    message: `.${path.join('.')} is already set in v1alpha1 config`,
  })),
  {
    kinds: ['KubeletConfig'],
    isIn: section('machine', 'kubelet'),
    message: 'kubelet config is already set in v1alpha1 config (.machine.kubelet)',
  },
  {
    kinds: ['KubeCredentialProviderConfig'],
    isIn: section('machine', 'kubelet'),
    message:
      'cannot use KubeCredentialProviderConfig with legacy kubelet configuration (.machine.kubelet)',
  },
  {
    kinds: ['KubePrismConfig'],
    isIn: section('machine', 'features', 'kubePrism'),
    message:
      "KubePrism config in v1alpha1 config (.machine.features.kubePrism) can't be used with KubePrismConfig document, please remove it to avoid conflicts",
  },
  {
    kinds: ['KubeTalosAPIAccessConfig'],
    isIn: section('machine', 'features', 'kubernetesTalosAPIAccess'),
    message: '.machine.features.kubernetesTalosAPIAccess is already set in v1alpha1 config',
  },
  {
    kinds: ['ImageCacheConfig'],
    isIn: section('machine', 'features', 'imageCache'),
    message: 'image cache config is already set in v1alpha1 config',
  },
  {
    kinds: ['CRIBaseRuntimeSpecConfig'],
    isIn: section('machine', 'baseRuntimeSpecOverrides'),
    message: 'base runtime spec overrides are already set in v1alpha1 config',
  },
]

/** Settings that are both in a document and in the main document. */
export const judgeConflicts = ({ v1alpha1, documents }: Loaded): string[] => {
  if (!v1alpha1) return []
  const main = { machine: object(v1alpha1.machine), cluster: object(v1alpha1.cluster) }
  const hasHostDns = (body: Body): boolean =>
    isObject(body.hostDNS) && isObject(object(main.machine.features).hostDNS)
  return documents.flatMap(({ kind, body }) => {
    // A document reports its first conflict only.
    const conflict = CONFLICTS.find(({ kinds, isIn }) => kinds.includes(kind) && isIn(main))
    return [
      ...(conflict ? [conflict.message] : []),
      ...(kind === 'ResolverConfig' && hasHostDns(body)
        ? ['.machine.features.hostDNS is already set in v1alpha1 config']
        : []),
    ]
  })
}

/** Kinds that only a control plane may have (Talos: ControlplaneOnlyConfig). */
const OF_CONTROL_PLANES: ReadonlySet<string> = new Set([
  'KubeAdmissionControlConfig',
  'KubeAggregatorCAConfig',
  'KubeAPIServerConfig',
  'KubeAuditPolicyConfig',
  'KubeAuthenticationConfig',
  'KubeAuthorizerConfig',
  'KubeControllerManagerConfig',
  'KubeCoreDNSConfig',
  'KubeEtcdEncryptionConfig',
  'KubeFlannelCNIConfig',
  'KubeProxyConfig',
  'KubeSchedulerConfig',
  'KubeServiceAccountConfig',
  'KubeTalosAPIAccessConfig',
])

const LABEL = 'node-role.kubernetes.io/control-plane'

/** Rules of the whole configuration (Talos: config/container/validate.go, validateContainer). */
export const judgeWhole = (loaded: Loaded, warnings: string[]): string[] => {
  const { v1alpha1, documents } = loaded
  const settings = settingsOf(loaded)
  const isControlPlane = ['controlplane', 'init'].includes(text(settings.machine.type))
  const documentOf = (kind: string): Body | undefined =>
    documents.find((document) => document.kind === kind)?.body
  const errors: string[] = []
  const resolver = object(documentOf('ResolverConfig'))
  const isEncrypted = list(resolver.nameservers).some((item) =>
    ['DoT', 'DoH'].includes(text(object(item).protocol)),
  )
  if (isEncrypted && object(resolver.hostDNS).enabled !== true)
    errors.push('hostDNS must be enabled when using non-default DNS protocols')
  if (settings.discovery)
    for (const [what, field, own] of [
      ['ID', 'id', settings.id],
      ['secret', 'secret', settings.secret],
    ] as const)
      if (own === '')
        errors.push(
          `cluster ${what} (.cluster.${field} or DiscoveryIdentityConfig) should be set when cluster discovery (DiscoveryServiceConfig) is enabled`,
        )
  if (documentOf('KubeSpanConfig')?.enabled === true && !settings.discovery)
    errors.push('KubeSpan requires cluster discovery to be enabled')
  const hasKubernetes = settings.kubernetesCa.issuing !== null
  if (isControlPlane && hasKubernetes) {
    const encrypts = settings.encryption.some(({ kind }) => kind !== 'identity')
    if (!encrypts && !documentOf('KubeEtcdEncryptionConfig'))
      errors.push(
        'etcd encryption config is required for control plane machines running kube-apiserver',
      )
  }
  const node = documentOf('KubeNodeConfig')
  if (
    isControlPlane &&
    node &&
    !(LABEL in object(node.labels)) &&
    node.skipNodeRegistration !== true
  )
    warnings.push(
      `KubeNodeConfig document should set the "${LABEL}" node label on control plane machines (and, unless scheduling on control planes is allowed, the "${LABEL}: NoSchedule" taint): unlike .machine.nodeLabels/.machine.nodeTaints, the document contents are used as-is`,
    )
  if (v1alpha1 && hasKubernetes && settings.endpoint === '')
    errors.push(
      'cluster name and endpoint are required when Kubernetes is configured: either .cluster.clusterName/.cluster.controlPlane.endpoint or the KubeClusterConfig document',
    )
  const wrong = documents.map(({ kind }) => kind).filter((kind) => OF_CONTROL_PLANES.has(kind))
  if (wrong.length > 0 && !isControlPlane)
    errors.push(
      `the following document kinds are only allowed on control plane machines: [${[...new Set(wrong)].toSorted().join(' ')}]`,
    )
  return errors
}
