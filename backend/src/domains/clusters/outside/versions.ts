/** Versions as images and machines name them. */

/** `1.36.3` of `registry.k8s.io/kubelet:v1.36.3`; null for a tag that is no version. */
export const versionOf = (image: string | undefined): string | null => /:v(\d{1,4}\.\d{1,4}\.\d{1,4})(?:@|$)/.exec(image ?? '')?.[1] ?? null

/** Lowest first; with or without the `v`. */
export const byVersion = (a: string, b: string): number => a.replace(/^v/, '').localeCompare(b.replace(/^v/, ''), 'en', { numeric: true })
