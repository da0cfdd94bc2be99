/**
 * Flags and feature gates that Kubernetes minors have removed. A program refuses to start with a
 * flag or feature gate that it doesn't know, so configurations are checked before an upgrade.
 * Sources: the "CHANGELOG-1.xx.md" of each minor, and "Feature Gates (removed)" of the Kubernetes
 * documentation.
 */
import { ConfigError } from './config/problem.ts'
import { type Facts, factsOf } from './facts/facts.ts'

interface Removals {
  readonly featureGates?: readonly string[]
  /** Feature gates that still exist and refuse any other value. */
  readonly lockedGates?: { readonly [gate: string]: boolean }
  /** Removed flags by program. */
  readonly flags?: { readonly [program in Program]?: readonly string[] }
}

const programs = {
  'kube-apiserver': 'apiServerArguments',
  'kube-controller-manager': 'controllerManagerArguments',
  'kube-scheduler': 'schedulerArguments',
  kubelet: 'kubeletArguments',
} as const
type Program = keyof typeof programs

/** Removals by minor: 31 for 1.31. Those of 30 are of 1.30 and before, which people still copy. */
const removals: Readonly<Record<number, Removals>> = {
  30: {
    featureGates: [
      'CSIMigration',
      'CSIStorageCapacity',
      'CronJobTimeZone',
      'DaemonSetUpdateSurge',
      'DownwardAPIHugePages',
      'DynamicKubeletConfig',
      'EndpointSlice',
      'EphemeralContainers',
      'ExpandCSIVolumes',
      'ExpandInUsePersistentVolumes',
      'ExpandPersistentVolumes',
      'GenericEphemeralVolume',
      'IPv6DualStack',
      'IdentifyPodOS',
      'IndexedJob',
      'KubeletCredentialProviders',
      'LegacyServiceAccountTokenNoAutoGeneration',
      'MixedProtocolLBService',
      'NetworkPolicyEndPort',
      'NetworkPolicyStatus',
      'PodOverhead',
      'PodSecurity',
      'ProbeTerminationGracePeriod',
      'SeccompDefault',
      'ServiceLBNodePortControl',
      'ServiceTopology',
      'StatefulSetMinReadySeconds',
      'SuspendJob',
      'TTLAfterFinished',
    ],
  },
  31: {
    featureGates: [
      'APIPriorityAndFairness',
      'CSINodeExpandSecret',
      'ConsistentHTTPGetHandlers',
      'DefaultHostNetworkHostPortsInPodTemplates',
      'ServiceNodePortStaticSubrange',
      'SkipReadOnlyValidationGCE',
    ],
    flags: {
      kubelet: ['iptables-drop-bit', 'iptables-masquerade-bit', 'keep-terminated-pod-volumes'],
      'kube-controller-manager': [
        'horizontal-pod-autoscaler-downscale-delay',
        'horizontal-pod-autoscaler-upscale-delay',
        'volume-host-allow-local-loopback',
        'volume-host-cidr-denylist',
      ],
    },
  },
  32: {
    featureGates: [
      'AllowServiceLBStatusOnNonLB',
      'CloudDualStackNodeIPs',
      'DRAControlPlaneController',
      'HPAContainerMetrics',
      'KMSv2',
      'KMSv2KDF',
      'LegacyServiceAccountTokenCleanUp',
      'MinDomainsInPodTopologySpread',
      'NewVolumeManagerReconstruction',
      'NodeOutOfServiceVolumeDetach',
      'ServerSideApply',
      'ServerSideFieldValidation',
      'StableLoadBalancerNodeSet',
      'ValidatingAdmissionPolicy',
      'ZeroLimitedNominalConcurrencyShares',
    ],
  },
  33: {
    featureGates: [
      'AppArmor',
      'AppArmorFields',
      'CPUManager',
      'DisableCloudProviders',
      'DisableKubeletCloudCredentialProviders',
      'JobPodFailurePolicy',
      'KubeProxyDrainingTerminatingNodes',
      'PDBUnhealthyPodEvictionPolicy',
      'PersistentVolumeLastPhaseTransitionTime',
      'VolumeCapacityPriority',
    ],
    flags: { 'kube-apiserver': ['cloud-config'] },
  },
  34: {
    featureGates: ['DevicePluginCDIDevices', 'LegacySidecarContainers', 'PodDisruptionConditions'],
    flags: { kubelet: ['cloud-config'] },
  },
  35: {
    featureGates: ['SizeMemoryBackedVolumes', 'UserNamespacesHostNetworkSupport'],
    flags: { kubelet: ['pod-infra-container-image'] },
  },
  36: {
    featureGates: [
      'CSIMigrationPortworx',
      'HonorPVReclaimPolicy',
      'InTreePluginPortworxUnregister',
      'WatchFromStorageWithoutResourceVersion',
    ],
  },
  37: {
    featureGates: [
      'APIServerTracing',
      'AnonymousAuthConfigurableEndpoints',
      'AnyVolumeDataSource',
      'AuthorizeNodeWithSelectors',
      'AuthorizeWithSelectors',
      'BtreeWatchCache',
      'ConsistentListFromCache',
      'GangScheduling',
      'JobBackoffLimitPerIndex',
      'JobPodReplacementPolicy',
      'JobSuccessPolicy',
      'LogarithmicScaleDown',
      'OrderedNamespaceDeletion',
      'PodLifecycleSleepAction',
      'PodLifecycleSleepActionAllowZero',
      'PreventStaticPodAPIReferences',
      'RelaxedDNSSearchValidation',
      'ResilientWatchCacheInitialization',
      'RetryGenerateName',
      'SchedulerQueueingHints',
      'SidecarContainers',
      'StreamingCollectionEncodingToJSON',
      'StreamingCollectionEncodingToProtobuf',
      'StructuredAuthenticationConfiguration',
      'WorkloadAwarePreemption',
    ],
    lockedGates: {
      DRAExtendedResource: true,
      DRAPrioritizedList: true,
      DRAResourceClaimDeviceStatus: true,
      DeclarativeValidationTakeover: false,
      DisableCPUQuotaWithExclusiveCPUs: true,
      HPAConfigurableTolerance: true,
      HostnameOverride: true,
      InPlacePodVerticalScalingInitContainers: true,
      NodeDeclaredFeatures: true,
      PLEGOnDemandRelist: true,
      PodReadyToStartContainersCondition: true,
      RelaxedServiceNameValidation: true,
      WatchCacheInitializationPostStartHook: true,
    },
    flags: {
      // Those that the kubelet had by accident from the cAdvisor library.
      kubelet: [
        'application-metrics-count-limit',
        'boot-id-file',
        'container-hints',
        'containerd',
        'containerd-namespace',
        'enable-load-reader',
        'event-storage-age-limit',
        'event-storage-event-limit',
        'global-housekeeping-interval',
        'log-cadvisor-usage',
        'machine-id-file',
        'storage-driver-buffer-duration',
        'storage-driver-db',
        'storage-driver-host',
        'storage-driver-password',
        'storage-driver-secure',
        'storage-driver-table',
        'storage-driver-user',
      ],
      'kube-controller-manager': ['concurrent-service-syncs'],
    },
  },
}

/** Feature gates and flags of a program that this minor and those before it have removed. */
export function removedUpTo(
  minor: number,
  program: Program,
): { readonly gates: ReadonlySet<string>; readonly flags: ReadonlySet<string> } {
  const past = Object.entries(removals).flatMap(([of, one]) => (Number(of) <= minor ? [one] : []))
  return {
    gates: new Set(past.flatMap((one) => one.featureGates ?? [])),
    flags: new Set(past.flatMap((one) => one.flags?.[program] ?? [])),
  }
}

function factsIn(config: string): Facts | undefined {
  try {
    return factsOf(config)
  } catch (error) {
    if (error instanceof ConfigError) return undefined
    throw error
  }
}

/**
 * Settings of a machine's configuration that this Kubernetes minor no longer knows, such as
 * `kube-apiserver: feature gate AppArmor`. Empty if there are none, or if the removals of the minor
 * are unknown.
 */
export function removedIn(config: string, minor: number): string[] {
  const facts = factsIn(config)
  if (facts === undefined) return []
  const { featureGates = [], lockedGates = {}, flags = {} } = removals[minor] ?? {}
  return (Object.keys(programs) as Program[]).flatMap((program) => {
    const used = facts[programs[program]]
    const named = (used['feature-gates'] ?? []).flatMap((value) => value.split(','))
    const gates = new Map([
      ...named.map((gate) => [gate.split('=', 1)[0]!, gate.split('=', 2)[1] ?? ''] as const),
      ...Object.entries(program === 'kubelet' ? facts.kubeletFeatureGates : {}).map(
        ([gate, value]) => [gate, String(value)] as const,
      ),
    ])
    return [
      ...(flags[program] ?? [])
        .filter((flag) => Object.hasOwn(used, flag))
        .map((flag) => `${program}: flag ${flag}`),
      ...featureGates
        .filter((gate) => gates.has(gate))
        .map((gate) => `${program}: feature gate ${gate}`),
      ...Object.entries(lockedGates)
        .filter(([gate, value]) => gates.has(gate) && gates.get(gate) !== String(value))
        .map(([gate, value]) => `${program}: feature gate ${gate}, which can only be ${value}`),
    ]
  })
}
