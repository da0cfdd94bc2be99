/** Fields of documents since Talos 1.14 that were in the main document, under these names. */

const sameNames = (path: string, names: string): Record<string, string> =>
  Object.fromEntries(names.split(' ').map((name) => [name, `${path}.${name}`]))

const component = (path: string, more = ''): Record<string, string> =>
  sameNames(path, `image extraArgs env resources${more}`)

/** Fields of documents, with their place in the main document. */
export const movedFields: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  SysctlConfig: { params: 'machine.sysctls' },
  SysfsConfig: { params: 'machine.sysfs' },
  UdevRulesConfig: { rules: 'machine.udev.rules' },
  KubeClusterConfig: {
    clusterName: 'cluster.clusterName',
    endpoint: 'cluster.controlPlane.endpoint',
  },
  KubeNodeConfig: {
    ...sameNames('machine.kubelet', 'skipNodeRegistration registerWithFQDN nodeIP'),
    labels: 'machine.nodeLabels',
    annotations: 'machine.nodeAnnotations',
    taints: 'machine.nodeTaints',
  },
  KubeletConfig: {
    ...sameNames(
      'machine.kubelet',
      'image extraArgs clusterDNS defaultRuntimeSeccompProfileEnabled',
    ),
    config: 'machine.kubelet.extraConfig',
  },
  KubeCredentialProviderConfig: { configuration: 'machine.kubelet.credentialProviderConfig' },
  KubeNetworkConfig: sameNames('cluster.network', 'dnsDomain podSubnets serviceSubnets'),
  KubePrismConfig: { port: 'machine.features.kubePrism.port' },
  KubeAuditPolicyConfig: { configuration: 'cluster.apiServer.auditPolicy' },
  KubeAPIServerConfig: {
    ...component('cluster.apiServer'),
    certExtraSANs: 'cluster.apiServer.certSANs',
    apiPort: 'cluster.controlPlane.localAPIServerPort',
  },
  KubeControllerManagerConfig: component('cluster.controllerManager'),
  KubeSchedulerConfig: component('cluster.scheduler', ' config'),
  KubeProxyConfig: component('cluster.proxy', ' mode'),
  KubeCoreDNSConfig: { image: 'cluster.coreDNS.image' },
}

/** Fields of documents that say in another way what the main document said. */
const otherwise: Readonly<Record<string, string>> = {
  'cluster.allowSchedulingOnControlPlanes': 'KubeNodeConfig.taints',
  'cluster.allowSchedulingOnMasters': 'KubeNodeConfig.taints',
  'cluster.proxy.disabled': 'KubeProxyConfig.enabled',
  'cluster.coreDNS.disabled': 'KubeCoreDNSConfig.enabled',
  'cluster.ca': 'KubeAPIServerCAConfig.issuingCA',
  'cluster.aggregatorCA': 'KubeAggregatorCAConfig.issuingCA',
  'cluster.serviceAccount': 'KubeServiceAccountConfig.issuer',
  'cluster.id': 'DiscoveryIdentityConfig.clusterID',
  'cluster.secret': 'DiscoveryIdentityConfig.clusterSecret',
  'cluster.network.cni': 'KubeFlannelCNIConfig',
  'machine.install.disk': 'UnattendedInstallConfig.provisioning.diskSelector',
  'machine.install.diskSelector': 'UnattendedInstallConfig.provisioning.diskSelector',
  'machine.install.image': 'UnattendedInstallConfig.installer.image',
  'machine.features.hostDNS': 'ResolverConfig.hostDNS',
}

const documentFields: ReadonlyMap<string, string> = new Map([
  ...Object.entries(otherwise),
  ...Object.entries(movedFields).flatMap(([kind, names]) =>
    Object.entries(names).map(([field, path]) => [path, `${kind}.${field}`] as const),
  ),
])

/** `KubeletConfig.extraArgs` for `machine.kubelet.extraArgs`; undefined without such a field. */
export const documentFieldOf = (path: string): string | undefined => documentFields.get(path)
