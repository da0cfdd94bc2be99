/** Versions in image tags and on machines. */

/** `1.36.3` from `registry.k8s.io/kubelet:v1.36.3`; null if the tag is no version. */
export const versionOf = (image: string | undefined): string | null => /:v(\d{1,4}\.\d{1,4}\.\d{1,4})(?:@|$)/.exec(image ?? '')?.[1] ?? null

/** Compares versions with or without the `v`, lowest first. */
export const byVersion = (a: string, b: string): number => a.replace(/^v/, '').localeCompare(b.replace(/^v/, ''), 'en', { numeric: true })
