/**
 * Which versions a cluster can be upgraded to. The rules are those of the plans of the upgrades.
 */
import type { VersionHealth } from '#contract/clusters/health.ts'
import type { SupportedPair } from '#talos/versions.ts'
import { type ApiServer, pathProblem, talosPathProblems } from '../../control-planes/api.ts'

const parts = (version: string): number[] =>
  version.replace(/^v/, '').split('-', 1)[0]!.split('.').map(Number)
const minorOf = (version: string): number => parts(version)[1] ?? 0
const isNewer = (a: string, b: string): boolean => {
  const [x, y] = [parts(a), parts(b)]
  for (let i = 0; i < 3; i++) if (x[i] !== y[i]) return (x[i] ?? 0) > (y[i] ?? 0)
  return false
}
const newestOf = (versions: readonly string[]): string | undefined =>
  versions.reduce<string | undefined>(
    (a, b) => (a === undefined || isNewer(b, a) ? b : a),
    undefined,
  )

/**
 * The newest offered version, and the next of the versions that a plan allows: the newest patch
 * release of the present minor, or else of another one.
 */
function step(
  current: string,
  offered: readonly string[],
  isAllowed: (version: string) => boolean,
): Pick<VersionHealth, 'newest' | 'next'> {
  const newer = offered.filter((v) => isNewer(v, current))
  const allowed = newer.filter(isAllowed)
  return {
    newest: newestOf(newer) ?? current,
    next:
      newestOf(allowed.filter((v) => minorOf(v) === minorOf(current))) ?? newestOf(allowed) ?? null,
  }
}

const notDirectly = (
  what: string,
  { newest, next }: Pick<VersionHealth, 'newest' | 'next'>,
): string | null =>
  next === null || next === newest
    ? null
    : `${what} ${newest} is offered, but ${next} comes first: upgrades go to the newest patch release, then one minor at a time`

/**
 * `pairs`: the newest offered version of each minor. `warnings`: sentences about versions out of
 * support.
 */
export function talosVersions(
  current: string,
  kubernetes: string,
  pairs: readonly SupportedPair[],
  warnings: readonly string[],
): VersionHealth {
  const problemsOf = (to: string) =>
    talosPathProblems({ from: [current], to, kubernetes: [kubernetes] })
  const found = step(
    current,
    pairs.map((p) => p.talos),
    (to) => problemsOf(to).talos.length === 0,
  )
  const [blocked] = found.next === null ? [] : problemsOf(found.next).kubernetes
  if (blocked !== undefined)
    return {
      current,
      newest: found.newest,
      next: null,
      after: 'kubernetes',
      reason: `${blocked}: upgrade Kubernetes first`,
    }
  return {
    current,
    ...found,
    after: null,
    reason: warnings.find((w) => w.startsWith('Talos')) ?? notDirectly('Talos', found),
  }
}

/**
 * `offered`: the versions that the cluster's Talos runs. `apiServers`: those of the control planes,
 * which are ahead of `current` after an upgrade that has stopped.
 */
export function kubernetesVersionsOf(
  { current, apiServers }: { readonly current: string; readonly apiServers: readonly ApiServer[] },
  talos: string,
  offered: readonly string[],
  pairs: readonly SupportedPair[],
  warnings: readonly string[],
): VersionHealth {
  const found = step(
    current,
    offered,
    (to) => pathProblem({ from: current, to, talos: [talos], apiServers }) === null,
  )
  const old = warnings.find((w) => w.startsWith('Kubernetes'))
  const later = newestOf(pairs.map((p) => p.kubernetes))
  const needsTalos = found.next === null && later !== undefined && minorOf(later) > minorOf(current)
  return {
    current,
    ...found,
    after: needsTalos ? 'talos' : null,
    reason:
      old ??
      notDirectly('Kubernetes', found) ??
      (needsTalos
        ? `Kubernetes ${later} needs a newer Talos than ${talos}: upgrade Talos first`
        : null),
  }
}
