import { type DocumentKind, documentKinds, LINK } from './document-kind.ts'
import { DOCUMENTS_OF_14 } from './fields-14.ts'
import { fields, type Fields } from './shape.ts'

/**
 * Fields of the main document, and of the other documents of Talos 1.12 and 1.13 (Talos: pkg/machinery/config/types/v1alpha1/v1alpha1_types.go and
 * the packages of the other documents).
 */

const PAIR = '{crt key}'
const ROUTES = 'routes[]{network gateway source metric# mtu#}'
const VLANS = `vlans[]{addresses[] cidr ${ROUTES} dhcp! vlanId# mtu# vip{ip equinixMetal* hcloud*} dhcpOptions*}`
const INTERFACES = `interfaces[]{interface deviceSelector{busPath hardwareAddr permanentAddr pciID driver physical!} addresses[] cidr ${ROUTES} bond* bridge* bridgePort* ${VLANS} mtu# dhcp! ignore! dummy! dhcpOptions* wireguard* vip{ip equinixMetal* hcloud*}}`
const VOLUMES = 'extraVolumes[]{hostPath mountPath readonly! name}'
const COMPONENT = `image extraArgs* ${VOLUMES} env* resources*`
const MAPPINGS = '{hostID# containerID# size#}'

const MACHINE = `type token ca${PAIR} acceptedCAs[]${PAIR} certSANs[] controlPlane{controllerManager{disabled!} scheduler{disabled!}}
  kubelet{image clusterDNS[] extraArgs* extraMounts[]{destination type source options[] uidMappings[]${MAPPINGS} gidMappings[]${MAPPINGS}} extraConfig* credentialProviderConfig* defaultRuntimeSeccompProfileEnabled! registerWithFQDN! nodeIP{validSubnets[]} skipNodeRegistration! disableManifestsDirectory!}
  pods*
  network{hostname ${INTERFACES} nameservers[] searchDomains[] extraHostEntries[]{ip aliases[]} kubespan{enabled! advertiseKubernetesNetworks! allowDownPeerBypass! harvestExtraEndpoints! mtu# filters*} disableSearchDomain!}
  disks[]{device partitions[]{size* mountpoint}}
  install{disk diskSelector{size name model serial modalias uuid wwid type busPath} extraKernelArgs[] image extensions[]{image} wipe! legacyBIOSSupport! grubUseUKICmdline!}
  files[]{content permissions* path op} env* time{disabled! servers[] bootTimeout} sysctls* sysfs*
  registries{mirrors%{endpoints[] overridePath! skipFallback!} config%{tls{clientIdentity${PAIR} ca insecureSkipVerify!} auth{username password auth identityToken}}}
  systemDiskEncryption*
  features{rbac! stableHostname! kubernetesTalosAPIAccess{enabled! allowedRoles[] allowedKubernetesNamespaces[]} apidCheckExtKeyUsage! diskQuotaSupport! kubePrism{enabled! port#} hostDNS{enabled! forwardKubeDNSToHost! resolveMemberNames!} imageCache{localEnabled!} nodeAddressSortAlgorithm}
  udev{rules[]} logging{destinations[]{endpoint* format extraTags*}} kernel{modules[]{name parameters[]}} seccompProfiles[]{name value*} baseRuntimeSpecOverrides* nodeLabels* nodeAnnotations* nodeTaints*`

const CLUSTER = `id secret controlPlane{endpoint localAPIServerPort#} clusterName network{cni{name urls[] flannel*} dnsDomain podSubnets[] serviceSubnets[]} token aescbcEncryptionSecret secretboxEncryptionSecret
  ca${PAIR} acceptedCAs[]${PAIR} aggregatorCA${PAIR} serviceAccount{key}
  apiServer{${COMPONENT} certSANs[] disablePodSecurityPolicy! admissionControl[]{name configuration*} auditPolicy* authorizationConfig*}
  controllerManager{${COMPONENT}} proxy{disabled! image mode extraArgs*} scheduler{${COMPONENT} config*}
  discovery{enabled! registries{kubernetes{disabled!} service{disabled! endpoint}}}
  etcd{image ca${PAIR} extraArgs* subnet advertisedSubnets[] listenSubnets[]} coreDNS{disabled! image} externalCloudProvider{enabled! manifests[]} extraManifests[] extraManifestHeaders* inlineManifests[]{name contents}
  adminKubeconfig{certLifetime} allowSchedulingOnMasters! allowSchedulingOnControlPlanes!`

export const V1ALPHA1: Fields = fields(
  `version debug! persist! machine{${MACHINE}} cluster{${CLUSTER}}`,
)

const PROVISIONING = 'provisioning{diskSelector{match} grow! minSize* maxSize*}'
const ENCRYPTION =
  'encryption{provider keys[]{slot# static{passphrase} nodeID* kms{endpoint} tpm* lockToState!} cipher keySize# blockSize# options[]}'

const DOCUMENTS: readonly ReadonlyMap<string, DocumentKind>[] = [
  DOCUMENTS_OF_14,
  documentKinds(13, {
    named: {
      VRFConfig: `links[] table ${LINK}`,
      BlackholeRouteConfig: 'metric#',
      RoutingRuleConfig: 'src dst table action* iifName oifName fwMark# fwMask#',
      TCPProbeConfig: 'interval failureThreshold# endpoint timeout',
      ExternalVolumeConfig: 'filesystemType mount*',
    },
    single: {
      KubeSpanConfig:
        'enabled! advertiseKubernetesNetworks! allowDownPeerBypass! harvestExtraEndpoints! mtu# filters{endpoints[] excludeAdvertisedNetworks[]}',
      ImageVerificationConfig: 'rules*',
    },
  }),
  documentKinds(12, {
    named: {
      LinkConfig: LINK,
      VLANConfig: `vlanID# vlanMode parent ${LINK}`,
      BondConfig: `links[] bondMode miimon# updelay# downdelay# xmitHashPolicy lacpRate arpInterval# arpIpTargets[] nsIp6Targets[] arpValidate arpAllTargets primary primaryReselect failOverMac adSelect useCarrier! numPeerNotif# allPortsActive! resendIGMP# minLinks# lpInterval# packetsPerSlave# tlbDynamicLb! adActorSysPrio# adUserPortKey# adLACPActive missedMax# peerNotifDelay# hardwareAddr ${LINK}`,
      BridgeConfig: `links[] stp{enabled!} vlan{filtering!} hardwareAddr ${LINK}`,
      DummyLinkConfig: `hardwareAddr ${LINK}`,
      WireguardConfig: `privateKey listenPort# firewallMark# peers[]{publicKey presharedKey endpoint persistentKeepaliveInterval allowedIPs[]} ${LINK}`,
      DHCPv4Config: 'routeMetric# ignoreHostname! clientIdentifier duidRaw',
      DHCPv6Config: 'routeMetric# ignoreHostname! clientIdentifier duidRaw',
      StaticHostConfig: 'hostnames[]',
      Layer2VIPConfig: 'link',
      HCloudVIPConfig: 'link apiToken',
      LinkAliasConfig: 'selector{match}',
      EthernetConfig:
        'features* rings{rx# tx# rxMini# rxJumbo# rxBufLen# cqeSize# txPush! rxPush! txPushBufLen# tcpDataSplit!} channels{rx# tx# other# combined#} wakeOnLan[]',
      NetworkRuleConfig: 'portSelector{ports[] protocol} ingress[]{subnet except}',
      VolumeConfig: `${PROVISIONING} ${ENCRYPTION} mount{secure!}`,
      UserVolumeConfig: `volumeType ${PROVISIONING} filesystem{type projectQuotaSupport!} ${ENCRYPTION} mount{secure! disableAccessTime!}`,
      RawVolumeConfig: `${PROVISIONING} ${ENCRYPTION}`,
      ExistingVolumeConfig:
        'discovery{volumeSelector{match}} mount{readOnly! secure! disableAccessTime!}',
      SwapVolumeConfig: `${PROVISIONING} ${ENCRYPTION}`,
      RegistryMirrorConfig: 'endpoints[]{url overridePath!} skipFallback!',
      RegistryAuthConfig: 'username password auth identityToken',
      RegistryTLSConfig: 'ca clientIdentity{cert key} insecureSkipVerify!',
      TrustedRootsConfig: 'certificates',
      ExtensionServiceConfig: 'configFiles[]{content mountPath} environment[]',
      PCIDriverRebindConfig: 'targetDriver',
      KmsgLogConfig: 'url',
    },
    single: {
      HostnameConfig: 'auto hostname',
      ResolverConfig: 'nameservers[]{address} searchDomains{domains[] disableDefault!}',
      TimeSyncConfig: 'enabled! bootTimeout ntp{servers[]} ptp{devices[]}',
      KubeSpanEndpointsConfig: 'extraAnnouncedEndpoints[]',
      NetworkDefaultActionConfig: 'ingress',
      ZswapConfig: 'maxPoolPercent# shrinkerEnabled!',
      WatchdogTimerConfig: 'device timeout',
      EnvironmentConfig: 'variables*',
      OOMConfig: 'triggerExpression cgroupRankingExpression sampleInterval',
      SideroLinkConfig: 'apiUrl uniqueToken',
      EventSinkConfig: 'endpoint',
    },
  }),
]

/** What a kind of document is in a Talos minor; undefined if the minor doesn't have it. */
export const documentKind = (kind: string, minor: number): DocumentKind | undefined =>
  DOCUMENTS.map((known) => known.get(kind)).find((known) => known && known.since <= minor)
