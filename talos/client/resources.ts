/**
 * Kinds of resources in a machine's state that we read: their namespace, type and message. Ids are
 * those of Talos's own controllers (Talos `pkg/machinery/resources/*`). All of them can also be
 * read in maintenance, except `MachineConfig`, which needs `os:admin`.
 */
import type { DescMessage } from '@bufbuild/protobuf'
import {
  DiskSpecSchema,
  DiscoveredVolumeSpecSchema,
  SystemDiskSpecSchema,
  VolumeStatusSpecSchema,
} from '../proto/gen/definitions/block_pb.ts'
import { InfoSpecSchema, MemberSpecSchema } from '../proto/gen/definitions/cluster_pb.ts'
import {
  MachineConfigSpecSchema,
  MachineTypeSpecSchema,
} from '../proto/gen/definitions/config_pb.ts'
import {
  MemberSpecSchema as EtcdMemberSpecSchema,
  SpecSpecSchema as EtcdSpecSpecSchema,
} from '../proto/gen/definitions/etcd_pb.ts'
import { LayerSchema } from '../proto/gen/definitions/extensions_pb.ts'
import {
  MemoryModuleSpecSchema,
  PCIDeviceSpecSchema,
  ProcessorSpecSchema,
  SystemInformationSpecSchema,
} from '../proto/gen/definitions/hardware_pb.ts'
import {
  APIServerConfigSpecSchema,
  ConfigStatusSpecSchema,
  ControllerManagerConfigSpecSchema,
  KubeletSpecSpecSchema,
  ManifestSpecSchema,
  NodenameSpecSchema,
  NodeStatusSpecSchema,
  SchedulerConfigSpecSchema,
  SecretsStatusSpecSchema,
  StaticPodStatusSpecSchema,
} from '../proto/gen/definitions/k8s_pb.ts'
import * as network from '../proto/gen/definitions/network_pb.ts'
import * as runtime from '../proto/gen/definitions/runtime_pb.ts'
import { StatusSpecSchema as TimeStatusSpecSchema } from '../proto/gen/definitions/time_pb.ts'
import { ServiceSpecSchema } from '../proto/gen/definitions/v1alpha1_pb.ts'

export interface ResourceKind<Desc extends DescMessage = DescMessage> {
  namespace: string
  type: string
  spec: Desc
}

function kind<Desc extends DescMessage>(
  namespace: string,
  type: string,
  spec: Desc,
): ResourceKind<Desc> {
  return { namespace, type, spec }
}

export const resources = {
  processor: kind('hardware', 'Processors.hardware.talos.dev', ProcessorSpecSchema),
  memoryModule: kind('hardware', 'MemoryModules.hardware.talos.dev', MemoryModuleSpecSchema),
  /** id `systeminformation` */
  systemInformation: kind(
    'hardware',
    'SystemInformations.hardware.talos.dev',
    SystemInformationSpecSchema,
  ),
  pciDevice: kind('hardware', 'PCIDevices.hardware.talos.dev', PCIDeviceSpecSchema),

  disk: kind('runtime', 'Disks.block.talos.dev', DiskSpecSchema),
  /** id `system-disk`; absent until Talos is installed */
  systemDisk: kind('runtime', 'SystemDisks.block.talos.dev', SystemDiskSpecSchema),
  discoveredVolume: kind(
    'runtime',
    'DiscoveredVolumes.block.talos.dev',
    DiscoveredVolumeSpecSchema,
  ),
  volumeStatus: kind('runtime', 'VolumeStatuses.block.talos.dev', VolumeStatusSpecSchema),

  link: kind('network', 'LinkStatuses.net.talos.dev', network.LinkStatusSpecSchema),
  /** id `<link>/<address>/<prefix length>` */
  address: kind('network', 'AddressStatuses.net.talos.dev', network.AddressStatusSpecSchema),
  /**
   * ids `default`, `current`, `routed`, each also with `-no-k8s` and `-only-k8s` after Kubernetes
   * has started
   */
  nodeAddress: kind('network', 'NodeAddresses.net.talos.dev', network.NodeAddressSpecSchema),
  route: kind('network', 'RouteStatuses.net.talos.dev', network.RouteStatusSpecSchema),
  /** id `hostname` */
  hostname: kind('network', 'HostnameStatuses.net.talos.dev', network.HostnameStatusSpecSchema),

  /** id `machine` */
  machineStatus: kind(
    'runtime',
    'MachineStatuses.runtime.talos.dev',
    runtime.MachineStatusSpecSchema,
  ),
  /** id `boot-id`, since Talos 1.14 */
  bootId: kind('runtime', 'BootIDs.runtime.talos.dev', runtime.BootIDSpecSchema),
  /** id `version` */
  version: kind('runtime', 'Versions.runtime.talos.dev', runtime.VersionSpecSchema),
  /** id `securitystate` */
  securityState: kind('runtime', 'SecurityStates.talos.dev', runtime.SecurityStateSpecSchema),
  extension: kind('runtime', 'ExtensionStatuses.runtime.talos.dev', LayerSchema),
  /** id `cmdline` */
  kernelCmdline: kind(
    'runtime',
    'KernelCmdlines.runtime.talos.dev',
    runtime.KernelCmdlineSpecSchema,
  ),
  diagnostic: kind('runtime', 'Diagnostics.runtime.talos.dev', runtime.DiagnosticSpecSchema),
  /** id `unattended-install`, since Talos 1.14 if the configuration has such a document */
  unattendedInstall: kind(
    'runtime',
    'UnattendedInstallStatuses.runtime.talos.dev',
    runtime.UnattendedInstallStatusSpecSchema,
  ),
  metaKey: kind('runtime', 'MetaKeys.runtime.talos.dev', runtime.MetaKeySpecSchema),
  service: kind('runtime', 'Services.v1alpha1.talos.dev', ServiceSpecSchema),
  /** id `node` */
  timeStatus: kind('runtime', 'TimeStatuses.v1alpha1.talos.dev', TimeStatusSpecSchema),

  /** ids `v1alpha1` (active) and `persistent`; admins only */
  machineConfig: kind('config', 'MachineConfigs.config.talos.dev', MachineConfigSpecSchema),
  /** id `machine-type` */
  machineType: kind('config', 'MachineTypes.config.talos.dev', MachineTypeSpecSchema),

  member: kind('cluster', 'Members.cluster.talos.dev', MemberSpecSchema),
  /** id `current` */
  clusterInfo: kind('cluster', 'Infos.cluster.talos.dev', InfoSpecSchema),

  nodename: kind('k8s', 'Nodenames.kubernetes.talos.dev', NodenameSpecSchema),
  nodeStatus: kind('k8s', 'NodeStatuses.kubernetes.talos.dev', NodeStatusSpecSchema),
  staticPod: kind('k8s', 'StaticPodStatuses.kubernetes.talos.dev', StaticPodStatusSpecSchema),
  /** id `static-pods`: the version of the secrets of all static pods */
  secretsStatus: kind(
    'controlplane',
    'SecretStatuses.kubernetes.talos.dev',
    SecretsStatusSpecSchema,
  ),
  /** id `static-pods`: the version of the configuration files of all static pods */
  configStatus: kind('controlplane', 'ConfigStatuses.kubernetes.talos.dev', ConfigStatusSpecSchema),
  /**
   * id `kube-apiserver`; admins only. Since 1.14 also the arguments that follow from it, whose
   * version the pod has (Talos `k8s/control_plane_final.go`): a prefix and `kube-apiserver`
   */
  apiServerConfig: kind(
    'controlplane',
    'APIServerConfigs.kubernetes.talos.dev',
    APIServerConfigSpecSchema,
  ),
  /** id `kube-controller-manager` */
  controllerManagerConfig: kind(
    'controlplane',
    'ControllerManagerConfigs.kubernetes.talos.dev',
    ControllerManagerConfigSpecSchema,
  ),
  /** id `kube-scheduler` */
  schedulerConfig: kind(
    'controlplane',
    'SchedulerConfigs.kubernetes.talos.dev',
    SchedulerConfigSpecSchema,
  ),
  /** Objects that a control plane maintains in the cluster, in groups such as `10-kube-proxy`. */
  manifest: kind('controlplane', 'Manifests.kubernetes.talos.dev', ManifestSpecSchema),
  /** id `kubelet` */
  kubeletSpec: kind('k8s', 'KubeletSpecs.kubernetes.talos.dev', KubeletSpecSpecSchema),
  /** id `etcd` */
  etcdSpec: kind('etcd', 'EtcdSpecs.etcd.talos.dev', EtcdSpecSpecSchema),
  /** id `local` */
  etcdMember: kind('etcd', 'EtcdMembers.etcd.talos.dev', EtcdMemberSpecSchema),
} as const
