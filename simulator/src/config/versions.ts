/** Kubernetes minors a Talos minor accepts: six of them, ending with its default (Talos: pkg/machinery/compatibility; Talos 1.13 ends with Kubernetes 1.36). */
export const kubernetesRange = (talosMinor: number): { min: number; max: number } => ({ min: talosMinor + 18, max: talosMinor + 23 })

/** The minor of a version such as `v1.13.9`: 13. NaN for what is no version. */
export const minorOf = (version: string): number => Number(/^v?1\.(\d+)(?:\.|$)/.exec(version)?.[1] ?? NaN)

export const isTalosVersion = (version: string): boolean => /^v1\.(12|13)\.\d+$/.test(version)

/** The tag of an image reference, with or without a digest behind it; null where it has none. */
export const imageTag = (reference: string): string | null => /:([A-Za-z0-9_][A-Za-z0-9._-]{0,127})(?:@sha256:[0-9a-f]{64})?$/.exec(reference)?.[1] ?? null
