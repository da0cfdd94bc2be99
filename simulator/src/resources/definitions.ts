/**
 * Resource types of Talos, in its order (Talos:
 * internal/app/machined/pkg/runtime/v1alpha2/v1alpha2_state.go, pkg/machinery/resources). Each line
 * has type, namespace, display name, aliases, and after `|` the columns of `talosctl get` with
 * their paths. Marks: `!` only administrators may read the type, `+13` new in 1.13, those of 1.14
 * at the end, `-` the name in
 * lower case isn't an alias.
 */
const TABLE = `
Namespaces.meta.cosi.dev meta Namespace: ns namespace
ResourceDefinitions.meta.cosi.dev meta ResourceDefinition: api-resources resourcedefinition rd rds | Aliases {.aliases[:]}
BlockDevices.block.talos.dev runtime BlockDevice: blockdevice bd bds | Type {.type}, PartitionName {.partitionName}, Generation {.generation}
DiscoveredVolumes.block.talos.dev runtime DiscoveredVolume: discoveredvolume dv dvs | Type {.type}, Size {.pretty_size}, Discovered {.name}, Label {.label}, PartitionLabel {.partition_label}
DiscoveryRefreshRequests.block.talos.dev runtime DiscoveryRefreshRequest: discoveryrefreshrequest drr drrs | Request {.request}
DiscoveryRefreshStatuses.block.talos.dev runtime DiscoveryRefreshStatus: discoveryrefreshstatus drs | Request {.request}
Disks.block.talos.dev runtime Disk: disk | Size {.pretty_size}, Read Only {.readonly}, Transport {.transport}, Rotational {.rotational}, WWID {.wwid}, Model {.model}, Serial {.serial}
MountRequests.block.talos.dev runtime MountRequest: mountrequest mr mrs | Volume {.volumeID}, Parent {.parentID}, Requesters {.requesters}
MountStatuses.block.talos.dev runtime MountStatus: mountstatus ms | Source {.source}, Target {.target}, Filesystem {.filesystem}, Volume {.spec.volumeID}
SwapStatuses.block.talos.dev runtime SwapStatus: swap swaps swapstatus ss | Device {.device}, Size {.sizeHuman}, Used {.usedHuman}, Priority {.priority}
BlockSymlinks.block.talos.dev runtime BlockSymlink: blocksymlink bs
SystemDisks.block.talos.dev runtime SystemDisk: systemdisk sd sds | Disk {.diskID}
UserDiskConfigStatuses.block.talos.dev runtime UserDiskConfigStatus: userdiskconfigstatus udcs | Ready {.ready}
VolumeConfigs.block.talos.dev! runtime VolumeConfig: volumeconfig vc vcs
VolumeLifecycles.block.talos.dev runtime VolumeLifecycle: volumelifecycle vl vls
VolumeMountRequests.block.talos.dev runtime VolumeMountRequest: volumemountrequest vmr vmrs | Volume ID {.volumeID}, Requester {.requester}
VolumeMountStatuses.block.talos.dev runtime VolumeMountStatus: volumemountstatus vms | Volume ID {.volumeID}, Requester {.requester}, Target {.target}
VolumeStatuses.block.talos.dev runtime VolumeStatus: volumestatus vs | Type {.type}, Phase {.phase}, Location {.location}, Size {.prettySize}
ZswapStatuses.block.talos.dev runtime ZswapStatus: zswapstatus zs | Total Size {.totalSizeHuman}, Stored Pages {.storedPages}, Written Back {.writtenBackPages}, Pool Limit Hit {.poolLimitHit}
Affiliates.cluster.talos.dev cluster Affiliate: affiliate | Hostname {.hostname}, Machine Type {.machineType}, Addresses {.addresses}
DiscoveryConfigs.cluster.talos.dev! config DiscoveryConfig: discoveryconfig dc dcs
Identities.cluster.talos.dev cluster Identity: identity | ID {.nodeId}
Infos.cluster.talos.dev cluster Info: info | Cluster ID {.clusterId}, Cluster Name {.clusterName}
Members.cluster.talos.dev cluster Member: member | Hostname {.hostname}, Machine Type {.machineType}, OS {.operatingSystem}, Addresses {.addresses}
MachineConfigs.config.talos.dev! config MachineConfig: machineconfig mc mcs
MachineTypes.config.talos.dev config MachineType: machinetype mt mts | Type {@}
ImageCacheConfigs.cri.talos.dev cri ImageCacheConfig: imagecacheconfig icc iccs | Status {.status}, CopyStatus {.copyStatus}, Roots {.roots}
SeccompProfiles.cri.talos.dev cri SeccompProfile: seccompprofile sp sps
EtcdConfigs.etcd.talos.dev etcd EtcdConfig: etcdconfig ec ecs | Image {.image}
PKIStatuses.etcd.talos.dev etcd PKIStatus: pkistatus pkis | Ready {.ready}, Secrets Version {.version}
EtcdSpecs.etcd.talos.dev etcd EtcdSpec: etcdspec es | Name {.name}, AdvertisedAddresses {.advertisedAddresses}, ListenPeerAddresses {.listenPeerAddresses}, ListenClientAddresses {.listenClientAddresses}
EtcdMembers.etcd.talos.dev etcd EtcdMember: etcdmember em ems | Member ID {.memberID}
EtcFileSpecs.files.talos.dev! files EtcFileSpec: etcfilespec efs
EtcFileStatuses.files.talos.dev files EtcFileStatus: etcfilestatus efs
MemoryModules.hardware.talos.dev hardware MemoryModule: memorymodules ram memorymodule mm mms | Manufacturer {.manufacturer}, Model {.productName}, SizeMiB {.sizeMiB}
PCIDevices.hardware.talos.dev hardware PCIDevice: devices device pcidevice pcid pcids | Class {.class}, Subclass {.subclass}, Vendor {.vendor}, Product {.product}
PCIDriverRebindConfigs.runtime.talos.dev hardware PCIDriverRebindConfig: pcidriverrebindconfig pcidrc pcidrcs | Name {.name}, PCI ID {.pciID}, TargetDriver {.targetDriver}
PCIDriverRebindStatuses.runtime.talos.dev hardware PCIDriverRebindStatus: pcidriverrebinds pcidriverrebindstatus pcidrs | Name {.name}, PCI ID {.pciID}, TargetDriver {.targetDriver}
PCRStatuses.hardware.talos.dev hardware PCRStatus: pcrstatus pcrs
Processors.hardware.talos.dev hardware Processor: cpus cpu processor | Manufacturer {.manufacturer}, Model {.productName}, Cores {.coreCount}, Threads {.threadCount}
SystemInformations.hardware.talos.dev hardware SystemInformation: systeminformation systeminformation si sis | Manufacturer {.manufacturer}, ProductName {.productName}, Version {.version}, SerialNumber {.serialnumber}, UUID {.uuid}, WakeUpType {.wakeUpType}, SKUNumber {.skuNumber}
AdmissionControlConfigs.kubernetes.talos.dev controlplane AdmissionControlConfig: admissioncontrolconfig acc accs
AuditPolicyConfigs.kubernetes.talos.dev! controlplane AuditPolicyConfig: auditpolicyconfig apc apcs
AuthorizationConfigs.kubernetes.talos.dev! controlplane AuthorizationConfig: authorizationconfig ac acs
APIServerConfigs.kubernetes.talos.dev! controlplane APIServerConfig: apiserverconfig apisc apiscs
KubePrismEndpoints.kubernetes.talos.dev k8s KubePrismEndpoint: kubeprismendpoint kpe kpes | Hosts {.endpoints[*].host}, Ports {.endpoints[*].port}
ConfigStatuses.kubernetes.talos.dev controlplane ConfigStatus: configstatus cs | Ready {.ready}, Secrets Version {.version}
ControllerManagerConfigs.kubernetes.talos.dev controlplane ControllerManagerConfig: controllermanagerconfig cmc cmcs
Endpoints.kubernetes.talos.dev controlplane Endpoint: endpoint | Addresses {.addresses}, Hosts {.hosts}
ExtraManifestsConfigs.kubernetes.talos.dev controlplane ExtraManifestsConfig: extramanifestsconfig emc emcs
KubeletConfigs.kubernetes.talos.dev! k8s KubeletConfig: kubeletconfig kc kcs
KubeletKubeconfigs.kubernetes.talos.dev k8s KubeletKubeconfig: kubeletkubeconfig kk kks | Hash {.hash}
KubeletLifecycles.kubernetes.talos.dev k8s KubeletLifecycle: kubeletlifecycle kl kls
KubeletSpecs.kubernetes.talos.dev! k8s KubeletSpec: kubeletspec ks
KubePrismConfigs.kubernetes.talos.dev k8s KubePrismConfig: kubeprismconfig kpc kpcs | Host {.host}, Port {.port}, Endpoints {.endpoints}
KubePrismStatuses.kubernetes.talos.dev k8s KubePrismStatus: kubeprismstatus kps | HOST {.host}, HEALTHY {.healthy}
Manifests.kubernetes.talos.dev controlplane Manifest: manifest
ManifestStatuses.kubernetes.talos.dev controlplane ManifestStatus: manifeststatus ms
BootstrapManifestsConfigs.kubernetes.talos.dev controlplane BootstrapManifestsConfig: bootstrapmanifestsconfig bmc bmcs
NodeAnnotationSpecs.k8s.talos.dev! k8s NodeAnnotationSpec: nodeannotationspec nas | Value {.value}
NodeCordonedSpecs.k8s.talos.dev! k8s NodeCordonedSpec: nodecordonedspec ncs
NodeIPs.kubernetes.talos.dev k8s NodeIP: nodeip nip nips
NodeIPConfigs.kubernetes.talos.dev k8s NodeIPConfig: nodeipconfig nipc nipcs
NodeLabelSpecs.k8s.talos.dev! k8s NodeLabelSpec: nodelabelspec nls | Value {.value}
Nodenames.kubernetes.talos.dev k8s Nodename: nodename | Nodename {.nodename}
NodeStatuses.kubernetes.talos.dev k8s NodeStatus: nodestatus ns | Ready {.nodeReady}, Unschedulable {.unschedulable}
NodeTaintSpecs.k8s.talos.dev! k8s NodeTaintSpec: nodetaintspec nts | Effect {.effect}, Value {.value}
SchedulerConfigs.kubernetes.talos.dev controlplane SchedulerConfig: schedulerconfig sc scs
StaticPods.kubernetes.talos.dev k8s StaticPod: staticpod sp sps
StaticPodServerStatuses.kubernetes.talos.dev k8s StaticPodServerStatus: staticpodserverstatus spss
StaticPodStatuses.kubernetes.talos.dev k8s StaticPodStatus: podstatus staticpodstatus sps | Ready {.conditions[?(@.type=="Ready")].status}
SecretStatuses.kubernetes.talos.dev controlplane SecretStatus: secretstatus ss | Ready {.ready}, Secrets Version {.version}
KubernetesAccessConfigs.cluster.talos.dev config KubernetesAccessConfig: kubernetesaccessconfig kac kacs
KubeSpanConfigs.kubespan.talos.dev! config KubeSpanConfig: kubespanconfig ksc kscs
KubeSpanEndpoints.kubespan.talos.dev kubespan KubeSpanEndpoint: kubespanendpoint kse kses | Endpoint {.endpoint}, Affiliate ID {.affiliateID}
KubeSpanIdentities.kubespan.talos.dev! kubespan KubeSpanIdentity: kubespanidentity ksi ksis | Address {.address}, PublicKey {.publicKey}
KubeSpanPeerSpecs.kubespan.talos.dev kubespan KubeSpanPeerSpec: kubespanpeerspec ksps | Label {.label}, Endpoints {.endpoints}
KubeSpanPeerStatuses.kubespan.talos.dev kubespan KubeSpanPeerStatus: kubespanpeerstatus ksps | Label {.label}, Endpoint {.endpoint}, State {.state}, Rx {.receiveBytes}, Tx {.transmitBytes}
AddressStatuses.net.talos.dev network AddressStatus: address addresses addressstatus as | Address {.address}, Link {.linkName}
AddressSpecs.net.talos.dev network AddressSpec: addressspec as
DeviceConfigSpecs.net.talos.dev! network DeviceConfigSpec: deviceconfigspec dcs
DNSResolveCaches.net.talos.dev network DNSResolveCach: dnsresolvecach dnsrc dnsrcs | Status {.status}
DNSUpstreams.net.talos.dev network DNSUpstream: dnsupstream dnsu dnsus | Healthy {.healthy}, Address {.addr}
EthernetSpecs.net.talos.dev network EthernetSpec: ethernetspec es
EthernetStatuses.net.talos.dev network EthernetStatus: ethtool ethernetstatus es | Link {.linkState}, Speed {.speedMbit}
HardwareAddresses.net.talos.dev network HardwareAddress: hardwareaddress ha has
HostDNSConfigs.net.talos.dev network HostDNSConfig: hostdnsconfig hdnsc hdnscs | Enabled {.enabled}
HostnameStatuses.net.talos.dev network HostnameStatus: hostname hostnamestatus hs | Hostname {.hostname}, Domainname {.domainname}
HostnameSpecs.net.talos.dev network HostnameSpec: hostnamespec hs
LinkAliasSpecs.net.talos.dev network LinkAliasSpec: linkaliasspec las | Alias {.alias}
LinkRefreshes.net.talos.dev network LinkRefresh: linkrefresh lr lrs
LinkStatuses.net.talos.dev network LinkStatus: link links linkstatus ls | Alias {.alias}, Type {.type}, Kind {.kind}, Hw Addr {.hardwareAddr}, Oper State {.operationalState}, Link State {.linkState}
LinkSpecs.net.talos.dev! network LinkSpec: linkspec ls
NfTablesChains.net.talos.dev network NfTablesChain: chain chains nftableschain ntc ntcs | Type {.type}, Hook {.hook}, Priority {.priority}, Policy {.policy}
NodeAddresses.net.talos.dev network NodeAddress: nodeaddress na nas | Addresses {.addresses}, SortAlgorithm {.sortAlgorithm}
NodeAddressFilters.net.talos.dev network NodeAddressFilter: nodeaddressfilter naf nafs | Include Subnets {.includeSubnets}, Exclude Subnets {.excludeSubnets}
NodeAddressSortAlgorithms.net.talos.dev network NodeAddressSortAlgorithm: nodeaddresssortalgorithm nasa nasas | Algorithm {.algorithm}
OperatorSpecs.net.talos.dev! network OperatorSpec: operatorspec os
PlatformConfigs.net.talos.dev network PlatformConfig: platformconfig pc pcs
ProbeSpecs.net.talos.dev network ProbeSpec: probespec ps
ProbeStatuses.net.talos.dev network ProbeStatus: probe probes probestatus ps | Success {.success}
ResolverStatuses.net.talos.dev network ResolverStatus: resolvers resolverstatus rs | Resolvers {.dnsServers}, Search Domains {.searchDomains}
ResolverSpecs.net.talos.dev network ResolverSpec: resolverspec rs | Layer {.layer}, Resolvers {.dnsServers}, Search Domains {.searchDomains}
RouteStatuses.net.talos.dev network RouteStatus: route routes routestatus rs | Destination {.dst}, Gateway {.gateway}, Link {.outLinkName}, Metric {.priority}
RouteSpecs.net.talos.dev network RouteSpec: routespec rs
RoutingRuleSpecs.net.talos.dev+13 network RoutingRuleSpec: routingrulespec rrs
RoutingRuleStatuses.net.talos.dev+13 network RoutingRuleStatus: routingrule routingrules routingrulestatus rrs | Src {.src}, Dst {.dst}, Table {.table}, Priority {.priority}
NetworkStatuses.net.talos.dev network NetworkStatus: netstatus netstatuses networkstatus ns | Address {.addressReady}, Connectivity {.connectivityReady}, Hostname {.hostnameReady}, Etc {.etcFilesReady}
TimeServerStatuses.net.talos.dev network TimeServerStatus: timeserver timeservers timeserverstatus tss | Timeservers {.timeServers}
TimeServerSpecs.net.talos.dev network TimeServerSpec: timeserverspec tss
CPUStats.perf.talos.dev perf CPUStat: cpustat cpus | User {.cpuTotal.user}, System {.cpuTotal.system}
MemoryStats.perf.talos.dev perf MemoryStat: memorystat ms | Used {.used}, Total {.total}
RegistryConfigs.cri.talos.dev! cri RegistryConfig: registryconfig rc rcs
APIServiceConfigs.runtime.talos.dev+13 runtime APIServiceConfig: apiserviceconfig apisc apiscs
BootedEntries.talos.dev runtime BootedEntry: bootedentry be bes | Booted Entry {.bootedEntry}
DevicesStatuses.runtime.talos.dev runtime DevicesStatus: devicesstatus ds | Ready {.ready}
Diagnostics.runtime.talos.dev runtime Diagnostic: diagnostic | Message {.message}
Environments.runtime.talos.dev+13 runtime Environment: env environment | Variables {.variables}
EventSinkConfigs.runtime.talos.dev runtime EventSinkConfig: eventsinkconfig esc escs
ExtensionServiceConfigs.runtime.talos.dev! runtime ExtensionServiceConfig: extensionserviceconfig esc escs
ExtensionServiceConfigStatuses.runtime.talos.dev runtime ExtensionServiceConfigStatus: extensionserviceconfigstatus escs
ExtensionStatuses.runtime.talos.dev runtime ExtensionStatus: extensions extensionstatus es | Name {.metadata.name}, Version {.metadata.version}
KernelCmdlines.runtime.talos.dev runtime KernelCmdline: cmdline kernelcmdline kc kcs | Cmdline {.cmdline}
KernelModuleSpecs.runtime.talos.dev runtime KernelModuleSpec: kernelmodulespec kms
KernelParamSpecs.runtime.talos.dev runtime KernelParamSpec: kernelparamspec kps
KernelParamDefaultSpecs.runtime.talos.dev runtime KernelParamDefaultSpec: kernelparamdefaultspec kpds
KernelParamStatuses.runtime.talos.dev runtime KernelParamStatus: sysctls kernelparameters kernelparams kernelparamstatus kps | Current {.current}, Default {.default}, Unsupported {.unsupported}
KmsgLogConfigs.runtime.talos.dev runtime KmsgLogConfig: kmsglogconfig klc klcs
LoadedKernelModules.runtime.talos.dev runtime LoadedKernelModule: module modules loadedkernelmodule lkm lkms | State {.state}
MaintenanceServiceConfigs.runtime.talos.dev runtime MaintenanceServiceConfig: maintenanceserviceconfig msc mscs
MaintenanceServiceRequests.runtime.talos.dev runtime MaintenanceServiceRequest: maintenanceservicerequest msr msrs
MachineResetSignals.runtime.talos.dev runtime MachineResetSignal: machineresetsignal mrs
MachineStatuses.runtime.talos.dev runtime MachineStatus: machinestatus ms | Stage {.stage}, Ready {.status.ready}
MetaKeys.runtime.talos.dev runtime MetaKey: meta metakey mk mks | Value {.value}
MetaLoads.runtime.talos.dev runtime MetaLoad: metaload ml mls | Done {.done}
MountStatuses.runtime.talos.dev- runtime MountStatus: mounts | Source {.source}, Target {.target}, Filesystem Type {.filesystemType}
OOMActions.talos.dev! runtime OOMAction: oomaction oomactions oomaction ooma oomas | Time {.time}, Score {.score}
PlatformMetadatas.talos.dev runtime PlatformMetadata: platformmetadata pm pms | Platform {.platform}, Type {.instanceType}, Region {.region}, Zone {.zone}
SBOMItems.talos.dev runtime SBOMItem: sbom sboms sbomitem sbomi sbomis | Version {.version}, License {.license}, Extension {.extension}
SecurityStates.talos.dev runtime SecurityState: securitystate ss | SecureBoot {.secureBoot}, UKISigningKeyFingerprint {.ukiSigningKeyFingerprint}, PCRSigningKeyFingerprint {.pcrSigningKeyFingerprint}, SELinuxState {.selinuxState}, ModuleSignatureEnforced {.moduleSignatureEnforced}
ServicePIDs.runtime.talos.dev+13 runtime ServicePID: servicepid spid spids | PID {.pid}
UniqueMachineTokens.runtime.talos.dev runtime UniqueMachineToken: uniquemachinetoken umt umts | Token {.token}
Versions.runtime.talos.dev runtime Version: version | Name {.name}, Version {.version}
WatchdogTimerConfigs.runtime.talos.dev runtime WatchdogTimerConfig: watchdogtimerconfig wtc wtcs | Device {.device}, Timeout {.timeout}
WatchdogTimerStatuses.runtime.talos.dev runtime WatchdogTimerStatus: watchdogtimerstatus wts | Device {.device}, Timeout {.timeout}
ApiCertificates.secrets.talos.dev! secrets ApiCertificate: apicertificate ac acs
CertSANs.secrets.talos.dev! secrets CertSAN: certsan csan csans
EncryptionSalts.secrets.talos.dev! secrets EncryptionSalt: encryptionsalt es
EtcdSecrets.secrets.talos.dev! secrets EtcdSecret: etcdsecret es
EtcdRootSecrets.secrets.talos.dev! secrets EtcdRootSecret: etcdrootsecret ers
KubeletSecrets.secrets.talos.dev! secrets KubeletSecret: kubeletsecret ks
KubernetesSecrets.secrets.talos.dev! secrets KubernetesSecret: kubernetessecret ks
KubernetesDynamicCerts.secrets.talos.dev! secrets KubernetesDynamicCert: kubernetesdynamiccert kdc kdcs
KubernetesRootSecrets.secrets.talos.dev! secrets KubernetesRootSecret: kubernetesrootsecret krs
MaintenanceRootSecrets.secrets.talos.dev! secrets MaintenanceRootSecret: maintenancerootsecret mrs
OSRootSecrets.secrets.talos.dev! secrets OSRootSecret: osrootsecret osrs
TrustdCertificates.secrets.talos.dev! secrets TrustdCertificate: trustdcertificate tc tcs
ImageVerificationRules.security.talos.dev+13 security ImageVerificationRule: imageverificationrule ivr ivrs | Pattern {.imagePattern}, Skip {.skip}, Deny {.deny}
TUFTrustedRoots.security.talos.dev+13 security TUFTrustedRoot: tuftrustedroot tuftr tuftrs | Last Refresh {.lastRefreshTime}
SiderolinkConfigs.siderolink.talos.dev! config SiderolinkConfig: siderolinkconfig sc scs | API Endpoint {.apiEndpoint}, Tunnel {.tunnel}
SiderolinkStatuses.siderolink.talos.dev config SiderolinkStatus: siderolinkstatus ss | Host {.host}, Connected {.connected}
SiderolinkTunnels.siderolink.talos.dev! config SiderolinkTunnel: siderolinktunnel st sts | API Endpoint {.apiEndpoint}, Link name {.linkName}, MTU {.mtu}, Node address {.nodeAddress}
AdjtimeStatuses.v1alpha1.talos.dev runtime AdjtimeStatus: adjtimestatus as | Offset {.offset}, EstError {.estError}, MaxError {.maxError}, Status {.status}, Sync {.syncStatus}
TimeStatuses.v1alpha1.talos.dev runtime TimeStatus: timestatus ts | Synced {.synced}
AcquireConfigSpecs.v1alpha1.talos.dev runtime AcquireConfigSpec: acquireconfigspec acs
AcquireConfigStatuses.v1alpha1.talos.dev runtime AcquireConfigStatus: acquireconfigstatus acs
FSScrubSchedules.block.talos.dev+14 runtime FSScrubSchedule: fsscrubschedule fsss | Filesystem {.filesystem}, Interval {.interval}, Next Scrub {.nextScrub}
FSScrubStatuses.block.talos.dev+14 runtime FSScrubStatus: fsscrubstatus fsss | Mountpoint {.mountpoint}, Interval {.interval}, Latest start time {.time}, Latest run duration {.duration}, Latest status {.status}
VolumeTrimSchedules.block.talos.dev+14 runtime VolumeTrimSchedule: volumetrimschedule vts | Filesystem {.filesystem}, Interval {.interval}, Next Trim {.nextTrim}
ContainerSpecs.containers.talos.dev+14 containers ContainerSpec: containerspec containerspecs cs | Image {.image.ref}
ContainerImageStatuses.containers.talos.dev+14 containers ContainerImageStatus: containerimagestatus containerimagestatuses cis | Phase {.phase}, Digest {.digest}
ContainerMountStatuses.containers.talos.dev+14 containers ContainerMountStatus: containermountstatus containermountstatuses cms | Ready {.ready}, Error {.error}
ContainerInstanceSpecs.containers.talos.dev+14 containers ContainerInstanceSpec: containerinstancespec containerinstancespecs cis | Container {.containerID}, Generation {.generation}, Image {.image}
ContainerInstanceStatuses.containers.talos.dev+14 containers ContainerInstanceStatus: containerinstancestatus containerinstancestatuses cis | Container {.containerID}, Phase {.phase}, PID {.pid}, Exit Code {.exitCode}
ContainerLifecycles.containers.talos.dev+14 containers ContainerLifecycle: containerlifecycle containerlifecycles cl cls
BaseRuntimeSpecConfigs.cri.talos.dev+14 cri BaseRuntimeSpecConfig: baseruntimespecconfig brsc brscs
CustomizationConfigs.cri.talos.dev!+14 cri CustomizationConfig: customizationconfig cc ccs
CPUCores.hardware.talos.dev+14 hardware CPUCore: cpucore cpucores cpuc cpucs | Socket {.socket}, Core {.coreID}, Model {.modelName}, Logical CPUs {.logicalCPUs}
AuthenticationConfigs.kubernetes.talos.dev!+14 controlplane AuthenticationConfig: authenticationconfig ac acs
EtcdEncryptionConfigs.kubernetes.talos.dev!+14 k8s EtcdEncryptionConfig: etcdencryptionconfig eec eecs
KubeletStatuses.kubernetes.talos.dev+14 k8s KubeletStatus: kubeletstatus ks | Image {.image}
BGPInstanceConfigs.net.talos.dev+14 network BGPInstanceConfig: bgpinstanceconfig bgpic bgpics | Local ASN {.localASN}, Router ID {.routerID}, VRF {.vrf}, Neighbors {.neighbors}
BGPPeerStatuses.net.talos.dev+14 network BGPPeerStatus: bgppeerstatus bgpps | Instance {.instance}, Peer {.peer}, Peer AS {.peerASN}, State {.state}, Since {.since}, Received {.received}
StaticHosts.net.talos.dev+14 network StaticHost: statichost sh shs | Addresses {.addresses}
BootIDs.runtime.talos.dev+14 runtime BootID: bootid bid bids | Boot ID {.bootID}
ImageFactorySchematics.runtime.talos.dev+14 runtime ImageFactorySchematic: imagefactoryschematic ifs | Schematic ID {.schematicId}, Flavor {.flavor}, API URL {.apiUrl}
KernelModuleStatuses.runtime.talos.dev+14 runtime KernelModuleStatus: module modules kernelmodulestatus kms | Type {.type}, State {.state}
RebootRequests.runtime.talos.dev+14 runtime RebootRequest: rebootrequest rr rrs
UnattendedInstallStatuses.runtime.talos.dev+14 runtime UnattendedInstallStatus: unattendedinstallstatus uis | Phase {.phase}
LVMLogicalVolumeSpecs.storage.talos.dev+14 storage LVMLogicalVolumeSpec: lvmlogicalvolumespec lvmlvs | VG {.vgName}, Name {.name}, Type {.type}
LVMLogicalVolumeStatuses.storage.talos.dev+14 storage LVMLogicalVolumeStatus: lvs lvmlogicalvolumestatus lvmlvs | Path {.path}, VG {.vgName}, Layout {.layout}, Size {.prettySize}, Active {.active}
LVMPhysicalVolumeSpecs.storage.talos.dev+14 storage LVMPhysicalVolumeSpec: lvmphysicalvolumespec lvmpvs | Device {.device}, VG {.vgName}
LVMPhysicalVolumeStatuses.storage.talos.dev+14 storage LVMPhysicalVolumeStatus: pvs lvmphysicalvolumestatus lvmpvs | Device {.device}, VG {.vgName}, Size {.prettySize}, Free {.prettyFree}, Allocatable {.allocatable}
LVMRefreshRequests.storage.talos.dev+14 storage LVMRefreshRequest: lvmrefreshrequest lvmrr lvmrrs | Request {.request}
LVMValidationErrors.storage.talos.dev+14 storage LVMValidationError: lvmvalidationerror lvmve lvmves | VG {.vgName}, Message {.message}
LVMVolumeGroupSpecs.storage.talos.dev+14 storage LVMVolumeGroupSpec: lvmvolumegroupspec lvmvgs | Name {.name}
LVMVolumeGroupStatuses.storage.talos.dev+14 storage LVMVolumeGroupStatus: vgs lvmvolumegroupstatus lvmvgs | Name {.name}, Permissions {.permissions}, Size {.prettySize}, Free {.prettyFree}, PVs {.pvCount}, LVs {.lvCount}
MDArraySpecs.storage.talos.dev+14 storage MDArraySpec: mdarrayspec mdas | Level {.level}
MDArrayStatuses.storage.talos.dev+14 storage MDArrayStatus: mdarraystatus mdas | Level {.level}, Status {.status}, Sync {.syncAction}, Device {.device}
MDRefreshRequests.storage.talos.dev+14 storage MDRefreshRequest: mdrefreshrequest mdrr mdrrs | Request {.request}
NTPStatuses.v1alpha1.talos.dev+14 runtime NTPStatus: ntpstatus ntps | Spike Detected {.spikeDetected}, Consecutive Spikes {.consecutiveSpikes}
Services.v1alpha1.talos.dev runtime Service: svc service | Running {.running}, Healthy {.healthy}, Health Unknown {.unknown}
`

export type Definition = ReturnType<typeof definition>

const LINE = /^([A-Za-z0-9.]+)([!-]*)(?:\+(\d+))? (\S+) (\S+):([^|]*)(?:\| (.*))?$/

const definition = (line: string) => {
  const [
    ,
    type = '',
    marks = '',
    since = 12,
    namespace = '',
    displayType = '',
    names = '',
    columns = '',
  ] = LINE.exec(line) ?? []
  if (type === '') throw new Error(`no definition of a resource: ${line}`)
  const aliases = names.split(' ').filter((name) => name !== '')
  const parts = type.toLowerCase().split('.')
  const own = marks.includes('-')
    ? []
    : parts.slice(1).map((_, index) => parts.slice(0, index + 1).join('.'))
  return {
    type,
    namespace,
    displayType,
    /** Only os:admin may read resources of this type. */
    sensitive: marks.includes('!'),
    /** First simulated Talos minor with the type. */
    since: Number(since),
    aliases,
    /** All names that clients may use. */
    allAliases: [...own, ...aliases],
    printColumns: columns
      .split(/(?<=\}), /)
      .filter((column) => column !== '')
      .map((column) => {
        const at = column.indexOf(' {')
        return { name: column.slice(0, at), jsonPath: column.slice(at + 1) }
      }),
  }
}

export const DEFINITIONS: ReadonlyMap<string, Definition> = new Map(
  TABLE.trim()
    .split('\n')
    .map((line) => definition(line))
    .map((entry) => [entry.type, entry]),
)
