/**
 * Paths of the main document that say what a document says, so that Talos refuses both together
 * (Talos `config/types/*`, each document's `V1Alpha1ConflictValidate`).
 */
import type { ConfigDocument } from '../decode.ts'
import { Report } from '../report.ts'

const kubelet = 'machine.kubelet'
const network = 'machine.network'

/** Paths that a document of the kind always excludes. */
const always: Readonly<Record<string, readonly string[]>> = {
  HostnameConfig: [`${network}.hostname`],
  ResolverConfig: [`${network}.nameservers`, `${network}.searchDomains`],
  TimeSyncConfig: ['machine.time.servers', 'machine.time.bootTimeout'],
  KubeSpanConfig: [`${network}.kubespan`],
  DiscoveryIdentityConfig: ['cluster.id', 'cluster.secret'],
  DiscoveryServiceConfig: ['cluster.discovery'],
  UnattendedInstallConfig: ['machine.install'],
  CRIBaseRuntimeSpecConfig: ['machine.baseRuntimeSpecOverrides'],
  ImageCacheConfig: ['machine.features.imageCache'],
  KubeClusterConfig: ['cluster.clusterName', 'cluster.controlPlane.endpoint'],
  KubeNodeConfig: [
    'cluster.allowSchedulingOnControlPlanes',
    'cluster.allowSchedulingOnMasters',
    `${kubelet}.skipNodeRegistration`,
    `${kubelet}.registerWithFQDN`,
    `${kubelet}.nodeIP`,
    'machine.nodeLabels',
    'machine.nodeAnnotations',
    'machine.nodeTaints',
  ],
  KubeletConfig: [kubelet],
  KubeCredentialProviderConfig: [kubelet],
  KubeNetworkConfig: ['cluster.network'],
  KubeFlannelCNIConfig: ['cluster.network'],
  KubeAPIServerCAConfig: ['cluster.ca'],
  KubePrismConfig: ['machine.features.kubePrism'],
  KubeAggregatorCAConfig: ['cluster.aggregatorCA'],
  KubeAdmissionControlConfig: ['cluster.apiServer.admissionControl'],
  // Talos looks at admission control here as well (`authorization.go`).
  KubeAuthorizerConfig: ['cluster.apiServer.admissionControl'],
  KubeAuditPolicyConfig: ['cluster.apiServer.auditPolicy'],
  KubeEtcdEncryptionConfig: ['cluster.secretboxEncryptionSecret', 'cluster.aescbcEncryptionSecret'],
  KubeServiceAccountConfig: ['cluster.serviceAccount'],
  KubeAPIServerConfig: ['cluster.apiServer'],
  KubeControllerManagerConfig: [
    'cluster.controllerManager',
    'machine.controlPlane.controllerManager',
  ],
  KubeSchedulerConfig: ['cluster.scheduler', 'machine.controlPlane.scheduler'],
  KubeProxyConfig: ['cluster.proxy'],
  KubeCoreDNSConfig: ['cluster.coreDNS'],
  KubeTalosAPIAccessConfig: ['machine.features.kubernetesTalosAPIAccess'],
}

/** Flags of the main document that exclude a document only if they are on. */
const ifOn: Readonly<Record<string, readonly string[]>> = {
  HostnameConfig: ['machine.features.stableHostname'],
  ResolverConfig: [`${network}.disableSearchDomain`],
  TimeSyncConfig: ['machine.time.disabled'],
}

/**
 * The paths of the main document that exclude this document. Some have no value in `main`, so that
 * they exclude nothing.
 */
export function placesInMain({ shape, name, root }: ConfigDocument, main: Report): string[][] {
  const { kind } = shape
  const document = new Report(root)
  const paths = [
    ...(always[kind] ?? []),
    ...(ifOn[kind] ?? []).filter((path) => main.flag(...path.split('.'))),
  ]
  if (kind === 'VolumeConfig' && document.has('encryption'))
    paths.push(`machine.systemDiskEncryption.${name.toLowerCase()}`)
  if (kind === 'ResolverConfig' && document.entries('hostDNS').length > 0)
    paths.push('machine.features.hostDNS')
  if (kind === 'KubeAPIServerConfig' && (main.number(...localPort) ?? 0) > 0)
    paths.push(localPort.join('.'))
  return paths.map((path) => path.split('.'))
}

const localPort = ['cluster', 'controlPlane', 'localAPIServerPort']
