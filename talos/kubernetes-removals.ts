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

/** Removals by minor: 31 for 1.31. */
const removals: Readonly<Record<number, Removals>> = {
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
  const { featureGates = [], flags = {} } = removals[minor] ?? {}
  return (Object.keys(programs) as Program[]).flatMap((program) => {
    const used = facts[programs[program]]
    const named = (used['feature-gates'] ?? []).flatMap((value) => value.split(','))
    const gates = new Set([
      ...named.map((gate) => gate.split('=', 1)[0]!),
      ...(program === 'kubelet' ? Object.keys(facts.kubeletFeatureGates) : []),
    ])
    return [
      ...(flags[program] ?? [])
        .filter((flag) => Object.hasOwn(used, flag))
        .map((flag) => `${program}: flag ${flag}`),
      ...featureGates
        .filter((gate) => gates.has(gate))
        .map((gate) => `${program}: feature gate ${gate}`),
    ]
  })
}
