/** Kubernetes minors a Talos minor accepts: six of them, ending with its default (Talos: pkg/machinery/compatibility; Talos 1.13 ends with Kubernetes 1.36). */
export const kubernetesRange = (talosMinor: number): { min: number; max: number } => ({ min: talosMinor + 18, max: talosMinor + 23 })

/** The minor of a version such as `v1.13.9`: 13. NaN if it is no version. */
export const minorOf = (version: string): number => Number(/^v?1\.(\d+)(?:\.|$)/.exec(version)?.[1] ?? NaN)

/** Minors of Talos that a server can run here. */
const MINORS: ReadonlySet<number> = new Set([12, 13])

export const isTalosVersion = (version: string): boolean => /^v1\.\d+\.\d+$/.test(version) && MINORS.has(minorOf(version))

/** What differs between minors, each with the first that has it; documents say it of themselves (`fields.ts`). */
const SINCE = {
  /** Memory modules are named after their bank too (Talos: pkg/machinery/resources/hardware). */
  banksInMemoryIds: 12,
  /** In maintenance the full API answers with reader rights; earlier minors have a separate small server (Talos: internal/app/maintenance). */
  readerInMaintenance: 13,
  /** The kernel's messages are kept as a log too (Talos: controllers/runtime/kmsg_log_storage.go). */
  kernelLog: 13,
  /** Install and upgrade as streams (Talos: api/machine/lifecycle.proto). */
  lifecycleService: 13,
} as const

/** Whether a minor has a feature of the table. */
export const hasFeature = (talosMinor: number, feature: keyof typeof SINCE): boolean => talosMinor >= SINCE[feature]

/** The tag of an image reference, with or without a digest; null if it has none. */
export const imageTag = (reference: string): string | null => /:([A-Za-z0-9_][A-Za-z0-9._-]{0,127})(?:@sha256:[0-9a-f]{64})?$/.exec(reference)?.[1] ?? null
