/**
 * The Talos minors that are simulated, each with a patch release and a Kubernetes release for
 * tests. A new minor needs a row here and its differences below; documents (`fields.ts`), resource
 * types (`resources/definitions.ts`) and extensions (`factory/catalogue.ts`) name the minor that
 * introduced them.
 */
export const RELEASES = {
  12: { talos: 'v1.12.11', kubernetes: '1.35.4', etcd: 'v3.6.12' },
  13: { talos: 'v1.13.9', kubernetes: '1.36.3', etcd: 'v3.6.12' },
} as const

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
  /** The namespace `security` has resources. */
  securityNamespace: 13,
} as const

/**
 * Kubernetes minors that a Talos minor accepts: six, of which the last is the default (Talos:
 * pkg/machinery/compatibility; Talos 1.13 ends with Kubernetes 1.36).
 */
export const kubernetesRange = (talosMinor: number): { min: number; max: number } => ({
  min: talosMinor + 18,
  max: talosMinor + 23,
})

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
