/** Talos and Kubernetes versions for clusters and images, with their end of support. */
import * as z from 'zod/mini'
import { operation, type Words } from './operation.ts'
import { no, type Verdict, yes } from './rule.ts'

const longestVersion = 32
/** `v1.13.9`, with or without the `v`, optionally with a prerelease. */
export const talosVersionText = (example = 'v1.13.9') =>
  z
    .string()
    .check(
      z.trim(),
      z.maxLength(longestVersion, `Enter a version such as ${example}`),
      z.regex(
        /^v?\d{1,4}\.\d{1,4}\.\d{1,4}(?:-(?:alpha|beta|rc)\.\d{1,4})?$/,
        `Enter a version such as ${example}`,
      ),
    )
const kubernetesVersion = /^v?\d{1,4}\.\d{1,4}\.\d{1,4}$/
export const kubernetesVersionText = z
  .string()
  .check(
    z.trim(),
    z.maxLength(longestVersion, 'Enter a version such as 1.36.3'),
    z.regex(kubernetesVersion, 'Enter a version such as 1.36.3'),
  )

const Support = z.object({
  /** Day on which upstream support ends, UTC; null: unknown or not set yet. */
  ends: z.nullable(z.string()),
  ended: z.boolean(),
})
export type Support = z.infer<typeof Support>

/** A Talos version and the Kubernetes versions that it supports. */
export const OfferedTalos = z.object({
  talos_version: z.string(),
  prerelease: z.boolean(),
  /** End of community support, which ends when the next minor is released. */
  support: Support,
  /**
   * Known patch releases, newest minor first. The first is the default for this Talos version.
   * Other patch releases of these minors can be entered.
   */
  kubernetes_versions: z.array(z.string()),
  /** The versions of `kubernetes_versions`, each with its end of support. */
  kubernetes: z.array(z.object({ version: z.string(), support: Support })),
  /** First and last supported minor: `1.31`, `1.36`. */
  kubernetes_minors: z.tuple([z.string(), z.string()]),
})
export type OfferedTalos = z.infer<typeof OfferedTalos>

export const versionList = operation('versionList', 'GET /v1/images/versions', 'signed_in', {
  summary:
    'Talos versions for new clusters, newest first, each with the Kubernetes versions that it supports. The first version of each list is the default.',
  query: z.strictObject({ prereleases: z.optional(z.enum(['true', 'false'])) }),
  answer: z.object({
    items: z.array(OfferedTalos),
    /**
     * Source of the versions: the image factory, or Steelyard's own list if the factory can't be
     * reached.
     */
    source: z.enum(['factory', 'shipped']),
    /**
     * Why the image factory did not answer. The last list that it has sent, if there is one, is
     * still returned.
     */
    reason: z.nullable(z.string()),
    /**
     * Sentences about new versions that aren't available here, and about versions out of support.
     */
    notices: z.array(z.string()),
  }),
})

const numbers = (version: string): [number, number] => {
  const [major = 0, minor = 0] = version.replace(/^v/, '').split('.').map(Number)
  return [major, minor]
}

/**
 * Whether a Talos version supports this Kubernetes version; any patch release of the supported
 * minors is accepted.
 */
export function canRunKubernetes(
  { talos_version, kubernetes_minors: [first, last] }: OfferedTalos,
  kubernetes: string,
): Verdict {
  if (!kubernetesVersion.test(kubernetes.trim())) return no('Enter a version such as 1.36.3')
  const [major, minor] = numbers(kubernetes)
  const isWithin =
    major === numbers(first)[0] && minor >= numbers(first)[1] && minor <= numbers(last)[1]
  return isWithin
    ? yes
    : no(
        `Talos ${talos_version} runs Kubernetes ${first} to ${last}, not ${kubernetes.replace(/^v/, '')}`,
      )
}

/**
 * "out of support since 2026-06-28"; null while the version is supported, or if its end of support
 * is unknown.
 */
export const supportEnded = ({ ends, ended }: Support): string | null =>
  ended && ends !== null ? `out of support since ${ends}` : ended ? 'out of support' : null

/** Sort key of a version: v1.9.0 comes before v1.13.0. */
export const versionKey = (version: string | null): number | null =>
  version === null
    ? null
    : (version.match(/\d+/g) ?? []).slice(0, 3).reduce((key, part) => key * 1000 + Number(part), 0)

/** Words for the API documentation. */
export const words: Words = {
  fields: {
    prereleases: 'True: include alphas, betas and release candidates.',
  },
}
