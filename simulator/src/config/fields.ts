import { fields, type Fields } from './shape.ts'

/**
 * Fields of Talos 1.12 and 1.13 (Talos: pkg/machinery/config/types/v1alpha1/v1alpha1_types.go and
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

const LINK =
  'up! mtu# addresses[]{address routePriority#} routes[]{destination gateway source metric# mtu# table} multicast!'
const PROVISIONING = 'provisioning{diskSelector{match} grow! minSize* maxSize*}'
const ENCRYPTION =
  'encryption{provider keys[]{slot# static{passphrase} nodeID* kms{endpoint} tpm* lockToState!} cipher keySize# blockSize# options[]}'

export interface DocumentKind {
  fields: Fields
  /** Documents of this kind need a name. */
  named: boolean
  /** First Talos minor with this kind. */
  since: number
}

const named = (text: string, since = 12): DocumentKind => ({
  fields: fields(`apiVersion kind name ${text}`),
  named: true,
  since,
})
const single = (text: string, since = 12): DocumentKind => ({
  fields: fields(`apiVersion kind ${text}`),
  named: false,
  since,
})

export const DOCUMENTS: ReadonlyMap<string, DocumentKind> = new Map([
  ['HostnameConfig', single('auto hostname')],
  ['LinkConfig', named(LINK)],
  ['VLANConfig', named(`vlanID# vlanMode parent ${LINK}`)],
  [
    'BondConfig',
    named(
      `links[] bondMode miimon# updelay# downdelay# xmitHashPolicy lacpRate arpInterval# arpIpTargets[] nsIp6Targets[] arpValidate arpAllTargets primary primaryReselect failOverMac adSelect useCarrier! numPeerNotif# allPortsActive! resendIGMP# minLinks# lpInterval# packetsPerSlave# tlbDynamicLb! adActorSysPrio# adUserPortKey# adLACPActive missedMax# peerNotifDelay# hardwareAddr ${LINK}`,
    ),
  ],
  ['BridgeConfig', named(`links[] stp{enabled!} vlan{filtering!} hardwareAddr ${LINK}`)],
  ['DummyLinkConfig', named(`hardwareAddr ${LINK}`)],
  [
    'WireguardConfig',
    named(
      `privateKey listenPort# firewallMark# peers[]{publicKey presharedKey endpoint persistentKeepaliveInterval allowedIPs[]} ${LINK}`,
    ),
  ],
  ['VRFConfig', named(`links[] table ${LINK}`, 13)],
  ['DHCPv4Config', named('routeMetric# ignoreHostname! clientIdentifier duidRaw')],
  ['DHCPv6Config', named('routeMetric# ignoreHostname! clientIdentifier duidRaw')],
  ['ResolverConfig', single('nameservers[]{address} searchDomains{domains[] disableDefault!}')],
  ['TimeSyncConfig', single('enabled! bootTimeout ntp{servers[]} ptp{devices[]}')],
  ['StaticHostConfig', named('hostnames[]')],
  ['Layer2VIPConfig', named('link')],
  ['HCloudVIPConfig', named('link apiToken')],
  ['LinkAliasConfig', named('selector{match}')],
  [
    'EthernetConfig',
    named(
      'features* rings{rx# tx# rxMini# rxJumbo# rxBufLen# cqeSize# txPush! rxPush! txPushBufLen# tcpDataSplit!} channels{rx# tx# other# combined#} wakeOnLan[]',
    ),
  ],
  [
    'KubeSpanConfig',
    single(
      'enabled! advertiseKubernetesNetworks! allowDownPeerBypass! harvestExtraEndpoints! mtu# filters{endpoints[] excludeAdvertisedNetworks[]}',
      13,
    ),
  ],
  ['KubeSpanEndpointsConfig', single('extraAnnouncedEndpoints[]')],
  ['NetworkDefaultActionConfig', single('ingress')],
  ['NetworkRuleConfig', named('portSelector{ports[] protocol} ingress[]{subnet except}')],
  ['VolumeConfig', named(`${PROVISIONING} ${ENCRYPTION} mount{secure!}`)],
  [
    'UserVolumeConfig',
    named(
      `volumeType ${PROVISIONING} filesystem{type projectQuotaSupport!} ${ENCRYPTION} mount{secure! disableAccessTime!}`,
    ),
  ],
  ['RawVolumeConfig', named(`${PROVISIONING} ${ENCRYPTION}`)],
  [
    'ExistingVolumeConfig',
    named('discovery{volumeSelector{match}} mount{readOnly! secure! disableAccessTime!}'),
  ],
  ['ExternalVolumeConfig', named('filesystemType mount*', 13)],
  ['SwapVolumeConfig', named(`${PROVISIONING} ${ENCRYPTION}`)],
  ['ZswapConfig', single('maxPoolPercent# shrinkerEnabled!')],
  ['RegistryMirrorConfig', named('endpoints[]{url overridePath!} skipFallback!')],
  ['RegistryAuthConfig', named('username password auth identityToken')],
  ['RegistryTLSConfig', named('ca clientIdentity{cert key} insecureSkipVerify!')],
  ['TrustedRootsConfig', named('certificates')],
  ['ExtensionServiceConfig', named('configFiles[]{content mountPath} environment[]')],
  ['WatchdogTimerConfig', single('device timeout')],
  ['EnvironmentConfig', single('variables*')],
  ['OOMConfig', single('triggerExpression cgroupRankingExpression sampleInterval')],
  ['PCIDriverRebindConfig', named('targetDriver')],
  ['ImageVerificationConfig', single('rules*', 13)],
  ['SideroLinkConfig', single('apiUrl uniqueToken')],
  ['EventSinkConfig', single('endpoint')],
  ['KmsgLogConfig', named('url')],
])
