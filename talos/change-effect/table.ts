/**
 * What a change of each section and document does to a running machine. Talos up to 1.13 says itself
 * whether it reboots (`v1alpha1_runtime.go`, CanApplyImmediate). Since 1.14 it applies everything
 * without a reboot and says so, also what it reads only when it boots (`v1alpha1_server.go`).
 */
import type { Minor } from '../versions.ts'

/**
 * `at_once`: controllers follow it. `reboot`: Talos reads it when it boots. `installation`: only an
 * installation or an upgrade reads it.
 */
export type When = 'at_once' | 'reboot' | 'installation'

/** What Talos starts again for a change. */
export type Component =
  | 'etcd'
  | 'kubelet'
  | 'kube-apiserver'
  | 'kube-controller-manager'
  | 'kube-scheduler'
  | 'containerd'

export interface Row {
  readonly when: When
  readonly starts: readonly Component[]
  /** The first minor in which controllers follow it; older ones reboot. */
  readonly atOnceSince?: Minor
  /** The first minor in which it needs a reboot; older ones say themselves what they do. */
  readonly rebootSince?: Minor
  /** Workers don't read it. */
  readonly isOfControlPlanes?: true
  /** Fields of a document that differ from the others. */
  readonly fields?: Readonly<Record<string, Row>>
}

const atOnce = (...starts: Component[]): Row => ({ when: 'at_once', starts })
/** Like `atOnce`, for what only control planes read. */
const onControlPlanes = (...starts: Component[]): Row => ({
  ...atOnce(...starts),
  isOfControlPlanes: true,
})
const reboot: Row = { when: 'reboot', starts: [] }
const installation: Row = { when: 'installation', starts: [] }
const atOnceSince = (since: Minor, ...starts: Component[]): Row => ({
  when: 'at_once',
  starts,
  atOnceSince: since,
})
const of = (names: string, row: Row): Record<string, Row> =>
  Object.fromEntries(names.split(' ').map((name) => [name, row]))

const api = 'kube-apiserver'
const manager = 'kube-controller-manager'
const scheduler = 'kube-scheduler'

/**
 * Sections of the main document. A section that isn't here takes effect with a reboot, except those
 * of `cluster` and `debug`, which no component reads when it starts.
 */
export const sections: Readonly<Record<string, Row>> = {
  debug: atOnce(),
  ...of(
    'machine.ca machine.acceptedCAs machine.time machine.certSANs machine.network machine.sysfs machine.sysctls machine.logging machine.kernel machine.pods machine.nodeAnnotations machine.nodeLabels machine.nodeTaints',
    atOnce(),
  ),
  'machine.install': installation,
  'machine.kubelet': atOnce('kubelet'),
  'machine.registries': atOnce('containerd'),
  'machine.seccompProfiles': atOnce(),
  'machine.controlPlane.controllerManager': onControlPlanes(manager),
  'machine.controlPlane.scheduler': onControlPlanes(scheduler),
  ...of(
    'machine.features.kubernetesTalosAPIAccess machine.features.kubePrism machine.features.hostDNS machine.features.imageCache machine.features.nodeAddressSortAlgorithm',
    atOnce(),
  ),
  // `controllers/k8s/kubelet_config.go`, `files/udev.go`, `cri/runtime_spec_config.go`,
  // `runtime/environment.go` (v1.14.0-rc.1)
  'machine.features.diskQuotaSupport': atOnceSince('1.14', 'kubelet'),
  'machine.udev': atOnceSince('1.14'),
  'machine.baseRuntimeSpecOverrides': atOnceSince('1.14', 'containerd'),
  'machine.env': atOnceSince('1.14'),
  // etcd reads it when it starts, and no controller starts it again (`services/etcd.go`).
  'cluster.etcd': onControlPlanes(),
  'cluster.apiServer': onControlPlanes(api),
  ...of('cluster.secretboxEncryptionSecret cluster.aescbcEncryptionSecret', atOnce(api)),
  'cluster.aggregatorCA': atOnce(api),
  'cluster.serviceAccount': atOnce(api, manager),
  'cluster.ca': atOnce(api, manager, scheduler, 'kubelet'),
  'cluster.acceptedCAs': atOnce(api, manager, scheduler, 'kubelet'),
  'cluster.controlPlane': atOnce(api, manager, scheduler, 'kubelet'),
  'cluster.network': atOnce(api, manager, 'kubelet'),
  // What a change of these does to objects in Kubernetes is in `objects.ts`.
  ...of(
    'cluster.network.cni cluster.proxy cluster.coreDNS cluster.inlineManifests cluster.extraManifests cluster.extraManifestHeaders',
    onControlPlanes(),
  ),
  'cluster.controllerManager': onControlPlanes(manager),
  'cluster.scheduler': onControlPlanes(scheduler),
  'cluster.externalCloudProvider': atOnce(api, manager, 'kubelet'),
  cluster: atOnce(),
  machine: reboot,
}

/** Documents. One that isn't here is followed by its controllers, and starts nothing again. */
export const documents: Readonly<Record<string, Row>> = {
  UnattendedInstallConfig: installation,
  // Talos's own volumes are made once, and encrypted and mounted at boot.
  VolumeConfig: { ...reboot, rebootSince: '1.14', fields: { provisioning: installation } },
  // `sandboxd/enabled.go`: read when the services start.
  SecurityProfileConfig: reboot,
  ...of('RegistryMirrorConfig RegistryAuthConfig RegistryTLSConfig', atOnce('containerd')),
  ...of('CRICustomizationConfig CRIBaseRuntimeSpecConfig', atOnce('containerd')),
  ...of('KubeletConfig KubeCredentialProviderConfig', atOnce('kubelet')),
  KubeNodeConfig: {
    ...atOnce('kubelet'),
    fields: of('labels annotations taints', atOnce()),
  },
  ...of('KubeInlineManifestConfig KubeExternalManifestConfig', onControlPlanes()),
  KubeClusterConfig: atOnce(api, manager, scheduler, 'kubelet'),
  KubeNetworkConfig: atOnce(api, manager, 'kubelet'),
  KubeAPIServerCAConfig: atOnce(api, manager, scheduler, 'kubelet'),
  KubeServiceAccountConfig: atOnce(api, manager),
  ...of(
    'KubeAPIServerConfig KubeAggregatorCAConfig KubeAdmissionControlConfig KubeAuditPolicyConfig KubeAuthenticationConfig KubeAuthorizerConfig KubeEtcdEncryptionConfig',
    atOnce(api),
  ),
  KubeControllerManagerConfig: atOnce(manager),
  KubeSchedulerConfig: atOnce(scheduler),
}
