/** Versions of a template that are gone, and the nearest that can be had. Pure. */
import { nearestVersion } from '#contract/templates/nearest.ts'
import type { PlannedClusters } from '#contract/templates/templates.ts'
import { compareVersions, type OfferedVersions } from '../images/api.ts'

const tag = (version: string): string => (version.startsWith('v') ? version : `v${version}`)
/** Of a minor, or of two that are equally near, the newest. */
const nearestOf = (versions: readonly string[], to: string): string | undefined =>
  nearestVersion(
    versions.toSorted((a, b) => compareVersions(tag(b), tag(a))),
    to,
  )

interface Judged {
  /** Both, as the cluster gets them. */
  readonly talos_version: string
  readonly kubernetes_version: string
  /** Null if the versions can be had. */
  readonly problem: string | null
  readonly nearest: PlannedClusters['nearest']
}

/** @param wanted versions of a template; the newest for those that it leaves out */
export function judgeVersions(
  versions: Pick<OfferedVersions, 'pairs' | 'pairsForNew' | 'kubernetes' | 'problem'>,
  wanted: {
    readonly talos_version?: string | undefined
    readonly kubernetes_version?: string | undefined
  },
): Judged {
  const offered = versions.pairsForNew()
  const talos = wanted.talos_version === undefined ? undefined : tag(wanted.talos_version)
  const kubernetes = wanted.kubernetes_version?.replace(/^v/, '')
  const runs = (one: string) =>
    kubernetes === undefined || versions.problem(one, kubernetes) === undefined
  const talos_version = talos ?? (offered.find((pair) => runs(pair.talos)) ?? offered[0]!).talos
  const kubernetes_version = kubernetes ?? versions.kubernetes(talos_version)[0] ?? ''
  const problem = versions.problem(talos_version, kubernetes_version)
  if (problem === undefined && kubernetes_version !== '')
    return { talos_version, kubernetes_version, problem: null, nearest: null }
  const tags = versions.pairs().map((pair) => pair.talos)
  const near = nearestOf(
    tags.includes(talos_version) ? [talos_version] : offered.map((pair) => pair.talos),
    talos_version,
  )!
  const its = versions.kubernetes(near)
  const nearest = {
    talos_version: near,
    kubernetes_version:
      kubernetes !== undefined && versions.problem(near, kubernetes) === undefined
        ? kubernetes
        : nearestOf(its, kubernetes ?? its[0]!)!,
  }
  return {
    talos_version,
    kubernetes_version,
    problem: `The versions of the template can't be had any more: ${problem ?? `Talos ${talos_version} is not supported`}. The nearest are Talos ${nearest.talos_version} and Kubernetes ${nearest.kubernetes_version}`,
    nearest,
  }
}
