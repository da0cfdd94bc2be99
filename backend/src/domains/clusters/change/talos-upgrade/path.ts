/**
 * Allowed upgrades of Talos. Pure. The health of a cluster uses the same rules for the next
 * version.
 */
import {
  contractOf,
  kubernetesProblem,
  minorText,
  type SupportedPair,
  supportedMinor,
  upgradeProblem,
} from '#talos/versions.ts'

interface TalosPath {
  /** The versions that the servers run. */
  readonly from: readonly string[]
  readonly to: string
  /** The versions of Kubernetes that the cluster and its kubelets run. */
  readonly kubernetes: readonly string[]
}

/**
 * Why servers can't get this version; empty if they can. `talos`: of the step itself. `kubernetes`:
 * the version doesn't run the present Kubernetes.
 */
export function talosPathProblems({ from, to, kubernetes }: TalosPath): {
  talos: string[]
  kubernetes: string[]
} {
  const found = (problems: readonly (string | undefined)[]) => [
    ...new Set(problems.filter((problem) => problem !== undefined)),
  ]
  return {
    talos: found(from.map((v) => upgradeProblem(v, to))),
    kubernetes: found(kubernetes.map((v) => kubernetesProblem(to, v))),
  }
}

/**
 * The versions of an upgrade that needs more than one pass, the wanted one last: each server goes
 * through the newest offered version of every minor between. Only the wanted version if there is no
 * such way, which the check of the path then refuses.
 * @param from the versions that the servers run
 * @param offered the newest version of each minor
 */
export function passesOf(
  from: readonly string[],
  to: string,
  offered: readonly SupportedPair[],
): string[] {
  if (from.length === 0 || [...from, to].some((v) => supportedMinor(v) === undefined)) return [to]
  const lowest = Math.min(...from.map((version) => contractOf(version).minor))
  const last = contractOf(to).minor
  const between: string[] = []
  for (let minor = lowest + 1; minor < last; minor++) {
    const step = offered.find(({ talos }) => minorText(talos) === `1.${minor}`)
    if (step === undefined) return [to]
    between.push(step.talos)
  }
  return [...between, to]
}

/** Whether a server that runs this version takes part in a pass to `to`. */
export const takesPart = (version: string, to: string, isLast: boolean): boolean =>
  isLast ? version !== to : contractOf(version).minor < contractOf(to).minor
