/**
 * The upgrades that lead from the versions of a cluster to those of its document, in an order in
 * which the Talos version always supports the Kubernetes version. Pure.
 */
import { canRunKubernetes, type OfferedTalos } from '#contract/versions.ts'

export interface Versions {
  readonly talos: string
  readonly kubernetes: string
}
export type Upgrade =
  | { readonly kind: 'upgradeTalos'; readonly version: string }
  | { readonly kind: 'upgradeKubernetes'; readonly version: string }

type Path = { readonly upgrades: Upgrade[] } | { readonly refused: string }

/** A version without its `v`. */
export const bareVersion = (version: string): string => version.replace(/^v/, '')
const partsOf = (version: string): number[] =>
  bareVersion(version)
    .split(/[.-]/)
    .map(Number)
    .filter((part) => !Number.isNaN(part))
const minorOf = (version: string): number => partsOf(version)[1] ?? 0

/** Compares major, minor and patch. */
const compare = (a: string, b: string): number => {
  const [left, right] = [partsOf(a), partsOf(b)]
  for (let i = 0; i < 3; i++) if (left[i] !== right[i]) return (left[i] ?? 0) - (right[i] ?? 0)
  return 0
}
const newestFirst = (versions: readonly string[]) => versions.toSorted((a, b) => compare(b, a))

/**
 * Whether this Talos runs this Kubernetes. A minor of Talos that is no longer offered is not
 * refused here: the plan of the change knows it.
 */
function supports(offered: readonly OfferedTalos[], talos: string, kubernetes: string): boolean {
  const known = offered.find(({ talos_version }) => minorOf(talos_version) === minorOf(talos))
  return known === undefined || canRunKubernetes(known, kubernetes).ok
}

/** The next Kubernetes version: one minor at a time, the newest offered patch of those between. */
function nextKubernetes(
  offered: readonly OfferedTalos[],
  from: string,
  to: string,
): string | undefined {
  if (minorOf(to) <= minorOf(from) + 1) return to
  const all = offered.flatMap(({ kubernetes_versions }) => kubernetes_versions)
  return newestFirst(all).find((version) => minorOf(version) === minorOf(from) + 1)
}

/** The newest Talos up to `to` that runs this Kubernetes. */
const nextTalos = (
  offered: readonly OfferedTalos[],
  { talos, kubernetes }: Versions,
  to: string,
): string | undefined =>
  [
    to,
    ...newestFirst(offered.filter((o) => !o.prerelease).map((o) => o.talos_version)).filter(
      (version) => minorOf(version) < minorOf(to) && minorOf(version) > minorOf(talos),
    ),
  ].find((version) => supports(offered, version, kubernetes))

/**
 * Kubernetes comes first wherever the present Talos runs the next version. Talos goes through the
 * minors between by itself, so it needs several upgrades only if Kubernetes must be upgraded in
 * between.
 * @param offered the newest Talos version of each minor
 */
export function upgradePath(
  now: Versions,
  wanted: Partial<Versions>,
  offered: readonly OfferedTalos[],
): Path {
  const to: Versions = {
    talos: wanted.talos ?? now.talos,
    kubernetes: wanted.kubernetes ?? now.kubernetes,
  }
  const back = compare(to.kubernetes, now.kubernetes) < 0
  if (back)
    return {
      refused: `Kubernetes ${bareVersion(now.kubernetes)} can't go back to ${bareVersion(to.kubernetes)}, because its objects may be stored in newer forms`,
    }
  const upgrades: Upgrade[] = []
  const at = { ...now }
  const isThere = (what: keyof Versions) => bareVersion(at[what]) === bareVersion(to[what])
  while (!isThere('kubernetes') || !isThere('talos')) {
    const kubernetes = isThere('kubernetes')
      ? undefined
      : nextKubernetes(offered, at.kubernetes, to.kubernetes)
    if (kubernetes !== undefined && supports(offered, at.talos, kubernetes)) {
      upgrades.push({ kind: 'upgradeKubernetes', version: kubernetes })
      at.kubernetes = kubernetes
      continue
    }
    const talos = isThere('talos') ? undefined : nextTalos(offered, at, to.talos)
    if (talos === undefined)
      return {
        refused: `No way leads from Talos ${bareVersion(at.talos)} with Kubernetes ${bareVersion(at.kubernetes)} to Talos ${bareVersion(to.talos)} with Kubernetes ${bareVersion(to.kubernetes)}: ${
          isThere('talos')
            ? `Talos ${bareVersion(at.talos)} does not run ${kubernetes === undefined ? `a Kubernetes between them` : `Kubernetes ${kubernetes}`}`
            : `no offered Talos up to ${bareVersion(to.talos)} runs Kubernetes ${bareVersion(at.kubernetes)}`
        }`,
      }
    upgrades.push({ kind: 'upgradeTalos', version: talos })
    at.talos = talos
  }
  return { upgrades }
}
