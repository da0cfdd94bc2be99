const IMAGES = { coreDns: 'v1.14.2', flannel: 'v0.28.4' }

/**
 * The Talos minors that are simulated, each with a patch release and a Kubernetes release for
 * tests. A new minor needs a row here and its differences below; documents (`fields.ts`), resource
 * types (`resources/definitions.ts`) and extensions (`factory/catalogue.ts`) name the minor that
 * introduced them.
 */
export const RELEASES = {
  12: { talos: 'v1.12.11', kubernetes: '1.35.4', etcd: 'v3.6.12', ...IMAGES },
  13: { talos: 'v1.13.9', kubernetes: '1.36.3', etcd: 'v3.6.12', ...IMAGES },
  14: {
    talos: 'v1.14.1',
    kubernetes: '1.37.0',
    etcd: '3.7.1',
    coreDns: 'v1.14.7',
    flannel: 'v0.28.9',
  },
} as const

/** What a minor runs by default. */
export const releaseOf = (talosMinor: number) => RELEASES[talosMinor as keyof typeof RELEASES]

/** Features that not every minor has, each with the first minor that has the feature. */
const SINCE = {
  /** The id of a memory module contains its bank (Talos: pkg/machinery/resources/hardware). */
  banksInMemoryIds: 12,
  /**
   * In maintenance the full API answers with reader rights. Earlier minors have a separate server
   * with few calls (Talos: internal/app/maintenance).
   */
  readerInMaintenance: 13,
  /**
   * Kernel messages can also be read as a service log (Talos:
   * controllers/runtime/kmsg_log_storage.go).
   */
  kernelLog: 13,
  /**
   * The calls for install and upgrade stream their progress (Talos: api/machine/lifecycle.proto).
   */
  lifecycleService: 13,
  /** Progress of pulls in the log of machined (Talos: internal/pkg/containers/image/console). */
  pullProgress: 13,
  /**
   * Modes without a reboot accept every configuration, and the mode `reboot` is gone (Talos:
   * v1alpha1_server.go, ApplyConfiguration).
   */
  neverReboots: 14,
  /**
   * Kubernetes and most other settings have documents of their own (Talos: config/contract.go).
   */
  kubernetesDocuments: 14,
  /** More system volumes can be configured (Talos: config/types/block/volume_config.go). */
  moreSystemVolumes: 14,
  /**
   * A dry run and a refused configuration leave the timer of a trial alone (Talos:
   * v1alpha1_server.go of 1.14.1).
   */
  cancelsTrialLate: 14,
  /**
   * A trial in maintenance ends without a configuration, instead of a panic (Talos:
   * v1alpha2_state.go of 1.14.1, SetConfig).
   */
  endsTrialInMaintenance: 14,
  /** Static pods follow resources with final arguments (Talos: control_plane_final.go). */
  finalPodConfigs: 14,
  /** The least version of TLS of the API server and etcd (Talos: control_plane_final.go). */
  tls13: 14,
  /** The installer's output is streamed line by line (Talos: lifecycle/internal/output). */
  wholeLines: 14,
  /** Lists and maps of sections have no empty entries (Talos: configloader/internal/decoder). */
  noNullEntries: 14,
  /** A document installs while the machine boots (Talos: controllers/runtime/unattended_install.go). */
  unattendedInstall: 14,
  /**
   * A stored configuration is checked at each boot with the Kubernetes versions of its images
   * (Talos: controllers/config/acquire.go).
   */
  kubernetesAtBoot: 14,
  /**
   * Extensions have hooks before a shutdown, and containers are stopped in a phase of their own
   * (Talos: v1alpha1_sequencer.go, preShutdownPhaselist and stopAllPhaselist).
   */
  stopContainers: 14,
  /** etcd serves its metrics and health on a port of their own (Talos: services/etcd.go). */
  etcdHttpPort: 14,
  /** LVMService and MDService (Talos: system/services/machined.go). */
  volumeServices: 14,
  /** Installers are only in the image factory (Talos: hack/release.toml). */
  factoryInstallersOnly: 14,
} as const

/**
 * Kubernetes minors that a Talos minor accepts: six, of which the last is the default (Talos:
 * pkg/machinery/compatibility; Talos 1.13 ends with Kubernetes 1.36).
 */
export const kubernetesRange = (talosMinor: number): { min: number; max: number } => ({
  min: talosMinor + 18,
  max: talosMinor + 23,
})

/**
 * Why a machine with Talos `host` can't be installed with another version, or null: each minor
 * accepts the two minors before it and the one after it (Talos: pkg/machinery/compatibility,
 * UpgradeableFrom).
 */
export const hostVersionProblem = (host: string, version: string): string | null => {
  const [from, to] = [minorOf(host), minorOf(version)]
  const [own, other] = [host.replace(/^v/, ''), version.replace(/^v/, '')]
  if (from < to - 2) return `host version ${own} is too old to upgrade to Talos ${other}`
  return from >= to + 2 ? `host version ${own} is too new to downgrade to Talos ${other}` : null
}

/** The minor of a version such as `v1.13.9`: 13. NaN if the text is no version. */
export const minorOf = (version: string): number =>
  Number(/^v?1\.(\d+)(?:\.|$)/.exec(version)?.[1] ?? NaN)

export const isTalosVersion = (version: string): boolean =>
  /^v1\.\d+\.\d+$/.test(version) && minorOf(version) in RELEASES

/** Whether a minor has a feature of the table. */
export const hasFeature = (talosMinor: number, feature: keyof typeof SINCE): boolean =>
  talosMinor >= SINCE[feature]

/** The tag of an image reference, with or without a digest; null if it has none. */
export const imageTag = (reference: string): string | null =>
  /:([A-Za-z0-9_][A-Za-z0-9._-]{0,127})(?:@sha256:[0-9a-f]{64})?$/.exec(reference)?.[1] ?? null
