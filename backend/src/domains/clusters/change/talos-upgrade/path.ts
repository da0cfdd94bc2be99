/**
 * Allowed upgrades of Talos. Pure. The health of a cluster uses the same rules for the next
 * version.
 */
import { kubernetesProblem, upgradeProblem } from '#talos/versions.ts'

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
