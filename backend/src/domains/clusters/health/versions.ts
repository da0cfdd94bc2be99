/** Which versions a cluster can be upgraded to. Talos and Kubernetes are upgraded by one minor at a time. */
import type { VersionHealth } from '#contract/clusters/health.ts'
import { kubernetesVersions, type SupportedPair, supportedMinor } from '#talos/versions.ts'

const parts = (version: string): number[] => version.replace(/^v/, '').split('-', 1)[0]!.split('.').map(Number)
const minorOf = (version: string): number => parts(version)[1] ?? 0
const isNewer = (a: string, b: string): boolean => {
  const [x, y] = [parts(a), parts(b)]
  for (let i = 0; i < 3; i++) if (x[i] !== y[i]) return (x[i] ?? 0) > (y[i] ?? 0)
  return false
}
const newestOf = (versions: readonly string[]): string | undefined =>
  versions.reduce<string | undefined>((a, b) => (a === undefined || isNewer(b, a) ? b : a), undefined)

/** The next version in `offered`: the newest patch release of the same minor, or else of the next minor. */
function step(current: string, offered: readonly string[]): Pick<VersionHealth, 'newest' | 'next'> {
  const newer = offered.filter((v) => isNewer(v, current))
  const within = (minor: number) => newestOf(newer.filter((v) => minorOf(v) === minor))
  return { newest: newestOf(newer) ?? current, next: within(minorOf(current)) ?? within(minorOf(current) + 1) ?? null }
}

const notDirectly = (what: string, { newest, next }: Pick<VersionHealth, 'newest' | 'next'>): string | null =>
  next === null || next === newest
    ? null
    : `${what} ${newest} is offered, but ${next} comes first: upgrades go to the newest patch release, then one minor at a time`

/** `pairs`: the newest offered version of each minor. `warnings`: sentences about versions out of support. */
export function talosVersions(current: string, kubernetes: string, pairs: readonly SupportedPair[], warnings: readonly string[]): VersionHealth {
  const found = step(
    current,
    pairs.map((p) => p.talos),
  )
  const old = warnings.find((w) => w.startsWith('Talos'))
  // Talos checks the Kubernetes version against its own range before an upgrade (Talos pkg/machinery/compatibility).
  const range = found.next === null ? undefined : supportedMinor(found.next)?.kubernetesMinors
  const tooOld =
    range !== undefined && minorOf(kubernetes) < range[0] ? `Talos ${found.next} needs Kubernetes 1.${range[0]} or newer: upgrade Kubernetes first` : null
  return { current, ...found, next: tooOld === null ? found.next : null, reason: tooOld ?? old ?? notDirectly('Talos', found) }
}

export function kubernetesVersionsOf(current: string, talos: string, pairs: readonly SupportedPair[], warnings: readonly string[]): VersionHealth {
  const minor = supportedMinor(talos)
  const found = step(current, minor === undefined ? [] : kubernetesVersions(minor))
  const old = warnings.find((w) => w.startsWith('Kubernetes'))
  const later = newestOf(pairs.map((p) => p.kubernetes))
  const needsTalos =
    found.next === null && later !== undefined && minorOf(later) > minorOf(current)
      ? `Kubernetes ${later} needs a newer Talos than ${talos}: upgrade Talos first`
      : null
  return { current, ...found, reason: old ?? notDirectly('Kubernetes', found) ?? needsTalos }
}
