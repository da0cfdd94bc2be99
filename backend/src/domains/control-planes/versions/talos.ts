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

const etcdMinor = (version: string): number => Number(version.split('.')[1])

/** What a member of etcd runs, and the version of its data; null if it doesn't tell. */
interface Versions {
  readonly version: string | null
  readonly storageVersion: string | null
}

/**
 * The minor of etcd's data while these are its members; null if none tells it. Data gets the version
 * of the oldest member, and never goes back (etcd `version/monitor.go`).
 */
function dataMinor(members: readonly Versions[]): number | null {
  const minors = (of: keyof Versions): number[] =>
    members.flatMap(({ [of]: version }) => (version === null ? [] : etcdMinor(version)))
  const running = minors('version')
  const known = minors('storageVersion')
  if (running.length > 0 && running.length === members.length) known.push(Math.min(...running))
  return known.length === 0 ? null : Math.max(...known)
}

/**
 * Why the etcd of a control plane can't go back to that of an older Talos, or null: an etcd that is
 * older than its data ends at its start (etcd `api/membership/downgrade.go`; siderolabs/omni#1568).
 */
export function etcdBackProblem(
  { name, from, to }: { readonly name: string; readonly from: string; readonly to: string },
  members: readonly Versions[],
): { readonly kind: 'problem' | 'warning'; readonly sentence: string } | null {
  const [before, after] = [supportedMinor(from)?.etcd, supportedMinor(to)?.etcd]
  if (before === undefined || after === undefined || etcdMinor(before) <= etcdMinor(after))
    return null
  const data = dataMinor(members)
  if (data === null)
    return {
      kind: 'warning',
      sentence: `No member of etcd tells the version of its data. If it is ${before} already, etcd ${after} of Talos ${to} does not start on ${name}`,
    }
  return data <= etcdMinor(after)
    ? null
    : {
        kind: 'problem',
        sentence: `The data of etcd has the version 3.${data} already, and Talos ${to} runs etcd ${after}, which does not start with newer data: ${name} would leave etcd for good. Keep Talos ${from}, or replace ${name}`,
      }
}

/**
 * Why control planes with this Talos can't join etcd, or null. An upgrade that stopped half way
 * leaves the cluster at its former version, which servers that join get.
 * @param members those that are there when they join
 */
export function etcdJoinProblem(talos: string, members: readonly Versions[]): string | null {
  const own = supportedMinor(talos)?.etcd
  const data = dataMinor(members)
  return own === undefined || data === null || data <= etcdMinor(own)
    ? null
    : `The other members run etcd 3.${data}, and control planes that join get Talos ${talos} with etcd ${own}, which does not start with newer data: finish the upgrade of Talos first, after the removal of control planes that are dead`
}

/** Whether a server that runs this version takes part in a pass to `to`. */
export const takesPart = (version: string, to: string, isLast: boolean): boolean =>
  isLast ? version !== to : contractOf(version).minor < contractOf(to).minor
