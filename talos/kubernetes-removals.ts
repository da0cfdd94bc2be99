/**
 * Flags and feature gates that Kubernetes minors have removed. A program refuses to start with a
 * flag or feature gate that it doesn't know, so configurations are checked before an upgrade.
 * Sources: of flags, and of gates up to 1.32, the "CHANGELOG-1.xx.md" of each minor and "Feature
 * Gates (removed)" of the Kubernetes documentation; of later gates `kubernetes/tables.ts`.
 */
import { ConfigError } from './config/problem.ts'
import { type Facts, factsOf } from './facts/facts.ts'
import { knownIn, oldestTable } from './kubernetes/tables.ts'

interface Removals {
  /** Removed feature gates, of minors that have no table before them. */
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
    flags: { 'kube-apiserver': ['cloud-config'] },
  },
  34: {
    flags: { kubelet: ['cloud-config'] },
  },
  35: {
    flags: { kubelet: ['pod-infra-container-image'] },
  },
  37: {
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

/** Flags of a program that this minor and those before it have removed. */
export const removedFlags = (minor: number, program: Program): ReadonlySet<string> =>
  new Set(
    Object.entries(removals).flatMap(([of, { flags }]) =>
      Number(of) <= minor ? (flags?.[program] ?? []) : [],
    ),
  )

/** Whether a minor up to the oldest with a table has removed the gate. */
export const isGateOfThePast = (gate: string): boolean =>
  Object.values(removals).some(({ featureGates = [] }) => featureGates.includes(gate))

/**
 * Feature gates that a minor knows; null if it is newer than the tables. A minor older than them
 * knows those of the oldest table, and those that were removed in between.
 */
export function gatesIn(minor: number): ReadonlySet<string> | null {
  if (minor >= oldestTable) {
    const known = knownIn(minor)
    return known === undefined ? null : new Set(known.gates.keys())
  }
  const since = Object.entries(removals).filter(([of]) => Number(of) > minor)
  return new Set([
    ...knownIn(oldestTable)!.gates.keys(),
    ...since.flatMap(([, { featureGates = [] }]) => featureGates),
  ])
}

/** Feature gates that a minor has removed, and those that it has locked to a value. */
function gateChanges(minor: number): {
  readonly removed: readonly string[]
  readonly locked: readonly (readonly [gate: string, only: boolean])[]
} {
  const [before, now] = [knownIn(minor - 1)?.gates, knownIn(minor)?.gates]
  if (before === undefined || now === undefined)
    return { removed: removals[minor]?.featureGates ?? [], locked: [] }
  return {
    removed: [...before.keys()].filter((gate) => !now.has(gate)),
    locked: [...now].flatMap(([gate, only]) =>
      only !== null && (before.get(gate) ?? null) === null ? [[gate, only] as const] : [],
    ),
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
  const { flags = {} } = removals[minor] ?? {}
  const { removed, locked } = gateChanges(minor)
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
      ...removed
        .filter((gate) => gates.has(gate))
        .map((gate) => `${program}: feature gate ${gate}`),
      ...locked
        .filter(([gate, value]) => gates.has(gate) && gates.get(gate) !== String(value))
        .map(([gate, value]) => `${program}: feature gate ${gate}, which can only be ${value}`),
    ]
  })
}
