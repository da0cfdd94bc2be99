/**
 * The documents that Talos 1.14 added, and those that have more fields since (Talos:
 * pkg/machinery/config/types).
 */
import { documentKinds, LINK } from './document-kind.ts'

const TRIM = 'trim{enabled! interval} scrub{enabled! interval}'
const XFS = 'xfs{minAllocationGroupSize}'
const PROVISIONING = 'provisioning{diskSelector{match} grow! minSize* maxSize*}'
const ENCRYPTION =
  'encryption{provider keys[]{slot# static{passphrase} nodeID* kms{endpoint} tpm* lockToState!} cipher keySize# blockSize# options[] allowDiscards!}'
const AUTHORITIES = 'issuingCA{cert key} acceptedCAs[]'
const POD = 'image extraArgs* env* resources*'

export const DOCUMENTS_OF_14 = documentKinds(14, {
  named: {
    BGPInstanceConfig:
      'vrf localASN# routerID routeSource advertise[] multipath! maxPaths# installRoutes! importRoutes[]{bgpInstance prefixes[]} neighbors[]{address link peerASN# localASN# passive! holdTime bfd{transmitInterval receiveInterval detectMultiplier#}}',
    CRICustomizationConfig: 'content',
    ContainerConfig:
      'image entrypoint[] args[] workingDir runAs{uid# gid#} environment[] mounts[]{userVolume{name destination options*} tmpfs{destination size options[]} hostPath{source destination options[]}} security{profile capabilities{add[] drop[]} machinedAccess!} network{mode} resources* dependsOn{paths[] networks* time! containers[]}',
    DHCPv4Config: 'routeMetric# ignoreHostname! ignoreRoutes! clientIdentifier duidRaw',
    DiscoveryServiceConfig: 'endpoint',
    EtcFileConfig: 'mode* contents',
    ExistingVolumeConfig: `discovery{volumeSelector{match}} mount{readOnly! secure! disableAccessTime!} ${TRIM}`,
    HTTPProbeConfig: 'interval failureThreshold# url timeout',
    KernelModuleConfig: 'parameters[]',
    KubeAdmissionControlConfig: 'configuration*',
    KubeAuthorizerConfig: 'type webhook*',
    KubeExternalManifestConfig: 'headers* url',
    KubeInlineManifestConfig: 'manifest',
    KubeStaticPodConfig: 'pod*',
    LVMLogicalVolumeConfig: 'type mirrors# stripes# provisioning{volumeGroup minSize* maxSize*}',
    LVMVolumeGroupConfig: 'provisioning{volumeSelector{match}}',
    RAIDArrayConfig: 'level* metadata provisioning{volumeSelector{match}}',
    RawVolumeConfig: `${PROVISIONING} ${ENCRYPTION}`,
    RegistryTLSConfig: 'ca clientIdentity{cert key} insecureSkipVerify!',
    SwapVolumeConfig: `${PROVISIONING} ${ENCRYPTION}`,
    UserVolumeConfig: `volumeType ${PROVISIONING} filesystem{type projectQuotaSupport! ${XFS}} ${ENCRYPTION} mount{secure! disableAccessTime!} ${TRIM}`,
    VethConfig: `peer{name ${LINK}} ${LINK}`,
    VolumeConfig: `${PROVISIONING} filesystem{${XFS}} ${ENCRYPTION} mount{secure! disableAccessTime!} ${TRIM}`,
  },
  single: {
    CRIBaseRuntimeSpecConfig: 'overrides*',
    DiscoveryIdentityConfig: 'clusterID clusterSecret',
    FilesystemScrubConfig: 'interval',
    FilesystemTrimConfig: 'interval',
    ImageCacheConfig: 'local{enabled!}',
    KubeAPIServerCAConfig: AUTHORITIES,
    KubeAPIServerConfig: `${POD} apiPort# certExtraSANs[] startupProbes!`,
    KubeAggregatorCAConfig: AUTHORITIES,
    KubeAuditPolicyConfig: 'configuration*',
    KubeAuthenticationConfig: 'configuration*',
    KubeClusterConfig: 'clusterName endpoint',
    KubeControllerManagerConfig: `enabled! ${POD}`,
    KubeCoreDNSConfig: 'enabled! image',
    KubeCredentialProviderConfig: 'configuration*',
    KubeEtcdEncryptionConfig: 'config*',
    KubeFlannelCNIConfig:
      'backendType backendPort# backendMTU# backendExtraConfig* resources* extraArgs[] kubeNetworkPoliciesEnabled!',
    KubeNetworkConfig:
      'dnsDomain podSubnets[] serviceSubnets[] nodeCIDRMaskSizeIPv4# nodeCIDRMaskSizeIPv6#',
    KubeNodeConfig:
      'skipNodeRegistration! registerWithFQDN! nodeIP{validSubnets[]} labels* annotations* taints*',
    KubePrismConfig: 'port# tlsServerName',
    KubeProxyConfig: 'enabled! image mode config* extraArgs* resources*',
    KubeSchedulerConfig: `enabled! ${POD} config*`,
    KubeServiceAccountConfig:
      'issuer{privateKey issuerURL} accepted{publicKeys[] issuers[] audiences[]}',
    KubeTalosAPIAccessConfig: 'allowedRoles[] allowedKubernetesNamespaces[]',
    KubeletConfig: 'image config* extraArgs* clusterDNS[] defaultRuntimeSeccompProfileEnabled!',
    ResolverConfig:
      'nameservers[]{address protocol tlsServerName} searchDomains{domains[] disableDefault!} hostDNS{enabled! forwardKubeDNSToHost! resolveMemberNames!}',
    SecurityProfileConfig: 'workloadIsolation!',
    SysctlConfig: 'params*',
    SysfsConfig: 'params*',
    TimeSyncConfig: 'enabled! bootTimeout ntp{servers[] useNTS!} ptp{devices[]}',
    UdevRulesConfig: 'rules[]',
    UnattendedInstallConfig: 'reboot! installer{image} provisioning{diskSelector{match} wipe!}',
  },
})
