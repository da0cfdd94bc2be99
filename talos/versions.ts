/**
 * Talos versions and what depends on them. A new minor needs a row in `minors`, rows in `since` for
 * its differences, its new documents and fields in `config/model` (`addedIn`), and its fixtures in
 * `conformance/`. Sources: Talos `pkg/machinery/compatibility` and `pkg/machinery/constants` at the
 * tag.
 */

/**
 * The parts of a Talos version that decide the form of a configuration (Talos
 * `pkg/machinery/config/contract.go`).
 */
export interface Contract {
  major: number
  minor: number
}

/** `1.13` */
export type Minor = `1.${number}`

export interface TalosMinor {
  minor: Minor
  /** Day of the first release, UTC. */
  released: string
  /**
   * The Talos tag that is the source of this row. Users are offered this version if the image
   * factory can't list its versions.
   */
  version: string
  /** The tag's default Kubernetes version. */
  kubernetes: string
  /** Minor of the etcd that the tag runs (`DefaultEtcdVersion`). */
  etcd: `3.${number}`
  /** Supported Kubernetes minors, first to last. */
  kubernetesMinors: readonly [number, number]
  /** Why it isn't offered for new clusters, as a sentence. Clusters that run it can be upgraded. */
  readonly notForNew?: string
  /**
   * The minor from which servers are upgraded to this one. Talos requires an upgrade through each
   * minor (Talos docs, "Upgrading Talos Linux").
   */
  upgradesFrom: Minor
}

/** Minors that users are offered, oldest first. */
export const minors: readonly TalosMinor[] = [
  {
    minor: '1.12',
    released: '2025-12-22',
    version: 'v1.12.11',
    kubernetes: '1.35.4',
    etcd: '3.6',
    kubernetesMinors: [30, 35],
    notForNew:
      'Talos 1.12 has had no fixes since 2026-04-27, so it is not offered for new clusters; clusters that run it can be upgraded',
    upgradesFrom: '1.11',
  },
  {
    minor: '1.13',
    released: '2026-04-27',
    version: 'v1.13.9',
    kubernetes: '1.36.3',
    etcd: '3.6',
    kubernetesMinors: [31, 36],
    upgradesFrom: '1.12',
  },
  {
    minor: '1.14',
    released: '2026-09-03',
    version: 'v1.14.1',
    kubernetes: '1.37.0',
    etcd: '3.7',
    kubernetesMinors: [32, 37],
    upgradesFrom: '1.13',
  },
]

/**
 * Released minors whose configurations are generated and checked, but that users aren't offered
 * yet.
 */
const laterMinors: readonly TalosMinor[] = []

/** Minors that configurations are generated and checked for, oldest first. */
export const modelledMinors: readonly TalosMinor[] = [...minors, ...laterMinors]

/**
 * Kubernetes minors: the newest known patch release, and the day that support ends
 * (kubernetes.io/releases: 14 months, to the 28th; 1.31 and 1.34 have other dates).
 */
const kubernetesReleases: Readonly<
  Record<number, { readonly version: string; readonly supportEnds: string }>
> = {
  30: { version: '1.30.14', supportEnds: '2025-06-28' },
  31: { version: '1.31.14', supportEnds: '2025-11-11' },
  32: { version: '1.32.13', supportEnds: '2026-02-28' },
  33: { version: '1.33.13', supportEnds: '2026-06-28' },
  34: { version: '1.34.10', supportEnds: '2026-10-27' },
  35: { version: '1.35.8', supportEnds: '2027-02-28' },
  36: { version: '1.36.5', supportEnds: '2027-06-28' },
  37: { version: '1.37.2', supportEnds: '2027-10-28' },
}

/** The last minor whose new configurations have Kubernetes in the main document. */
export const lastInMain: Minor = '1.13'

/**
 * Differences between minors, each with the first minor that has it. Differences in documents and
 * fields are in `config/model`.
 */
export const since = {
  /** Service accounts' tokens are signed with RSA-4096 (`secrets/bundle.go`). */
  rsaServiceAccountKey: '1.7',
  /**
   * In maintenance the full API answers with reader rights (`internal/app/maintenance` was
   * removed).
   */
  maintenanceApi: '1.13',
  /**
   * Images are pulled, written and booted by separate calls, with progress
   * (`api/machine/lifecycle.proto`).
   */
  lifecycleService: '1.13',
  /** Kernel messages are stored as a log whose tail can be read (`kmsg_log_storage.go`). */
  kernelLog: '1.13',
  /** Extra arguments may be lists (`types/meta`, Args). */
  listArguments: '1.13',
  /**
   * Objects that Talos maintains in Kubernetes are marked as its own and applied server-side
   * (`manifest_apply.go`).
   */
  manifestInventory: '1.13',
  /** An empty `machine.network` is omitted (`generate/init.go`). */
  noEmptyNetwork: '1.13',
  /** Kernel argument `proc_mem.force_override=never` (`kernel.go`). */
  procMemOverride: '1.13',
  /** The cluster id is standard base64 instead of URL-safe base64. */
  plainClusterId: '1.14',
  /**
   * A new configuration has Kubernetes, discovery, the installation and hostDNS in documents of
   * their own (`config/contract.go`, `MultidocKubernetesConfigSupported` and the switches beside
   * it).
   */
  kubernetesDocuments: '1.14',
  /** A configuration needs no install section (`v1alpha1_validation.go`). */
  optionalInstall: '1.14',
  /** `cluster.controlPlane` may be missing (`v1alpha1_types.go`). */
  optionalEndpoint: '1.14',
  /** System volumes besides STATE, EPHEMERAL and IMAGECACHE (`block/volume_config.go`). */
  moreSystemVolumes: '1.14',
  /** A null entry in a list or map of sections is refused on loading (`decoder.go`). */
  noNullEntries: '1.14',
  /**
   * A configuration never restarts its machine: the mode `auto` is `no-reboot`, and `reboot` is
   * refused (`internal/server/v1alpha1/v1alpha1_server.go`).
   */
  restartsApart: '1.14',
  /** Words that only YAML 1.1 reads as bools are written in single quotes (go-yaml v4 rc.6). */
  singleQuotedWords: '1.14',
  /** `mount.secure` of a directory volume can be set (`block/user_volume_config.go`). */
  secureDirectories: '1.14',
} as const satisfies Record<string, Minor>

/**
 * A Talos version and its default Kubernetes version. `supportedPairs` has a pair for each minor in
 * `minors`, newest first.
 */
export type SupportedPair = { talos: string; kubernetes: string }

/** The newest known patch release of a Kubernetes minor (`36` for 1.36), as `1.36.5`. */
export type PatchReleases = (minor: number) => string | undefined
const shippedReleases: PatchReleases = (minor) => kubernetesReleases[minor]?.version

export const supportedPairs: readonly SupportedPair[] = minors
  .map((m) => ({ talos: m.version, kubernetes: kubernetesVersions(m)[0]! }))
  .toReversed()

/**
 * Parses `v1.13.9`, `1.13` and the like. Default: the newest minor in `minors`. Throws an Error for
 * other text.
 */
export function contractOf(version?: Contract | string): Contract {
  if (typeof version === 'object') return version
  const match = /^v?(\d{1,4})\.(\d{1,4})($|\.)/.exec(version ?? minors.at(-1)!.minor)
  if (match === null) throw new Error(`Not a Talos version: ${version}`)
  return { major: Number(match[1]), minor: Number(match[2]) }
}

/** `1.13`, of `v1.13.9`. Throws an Error for other text. */
export function minorText(version: string): Minor {
  const { minor } = contractOf(version)
  return `1.${minor}`
}

const rowOf = (rows: readonly TalosMinor[], version: Contract | string) => {
  const { major, minor } = contractOf(version)
  return rows.find((m) => m.minor === `${major}.${minor}`)
}

/** `1.12, 1.13 or 1.14` */
export const supportedText = (): string =>
  minors
    .map((m) => m.minor)
    .join(', ')
    .replace(/, (?=[^,]*$)/, ' or ')

/** The offered minor of a version, or undefined. */
export const supportedMinor = (version: Contract | string): TalosMinor | undefined =>
  rowOf(minors, version)

/** The minor of a version that configurations are generated and checked for, or undefined. */
export const modelledMinor = (version: Contract | string): TalosMinor | undefined =>
  rowOf(modelledMinors, version)

const numberOf = (minor: string): number => Number(minor.split('.')[1])

/** Whether a version (default: the newest minor) is of this minor or newer. */
export function isSince(version: Contract | string | undefined, first: Minor): boolean {
  const { major, minor } = contractOf(version)
  return major > 1 || minor >= numberOf(first)
}

/** Whether a version has a feature of `since`. */
export const has = (version: Contract | string | undefined, feature: keyof typeof since): boolean =>
  isSince(version, since[feature])

/**
 * The day that community support of a Talos minor ended: the first release of the next minor
 * (Talos's support matrix). Null if support hasn't ended.
 */
export const talosSupportEnds = (minor: string): string | null =>
  modelledMinors.find((m) => numberOf(m.minor) === numberOf(minor) + 1)?.released ?? null

/** The day that support of a Kubernetes minor (`36` for 1.36) ends. Null if unknown. */
export const kubernetesSupportEnds = (minor: number): string | null =>
  kubernetesReleases[minor]?.supportEnds ?? null

/**
 * Kubernetes versions offered for a Talos minor: the newest patch release of each Kubernetes minor
 * that it runs, newest first.
 * @param known newer patch releases than the shipped ones
 */
export function kubernetesVersions(
  { kubernetesMinors: [first, last] }: TalosMinor,
  known: PatchReleases = shippedReleases,
): string[] {
  return Array.from({ length: last - first + 1 }, (_, i) => last - i).map(
    (minor) => known(minor) ?? shippedReleases(minor) ?? `1.${minor}.0`,
  )
}

/** The newest known released minor, supported here or not. */
export const newestMinor = (): Pick<TalosMinor, 'minor' | 'released'> => modelledMinors.at(-1)!

/**
 * Why Talos refuses this Kubernetes version, or undefined if it accepts it.
 * @param rows the minors that may be named: the offered ones, or all that are modelled
 */
export function kubernetesProblem(
  talosVersion: string,
  kubernetesVersion: string,
  rows: readonly TalosMinor[] = minors,
): string | undefined {
  const match = /^v?(\d{1,4})\.(\d{1,4})\.\d{1,4}(-[0-9A-Za-z.-]+)?$/.exec(kubernetesVersion)
  if (match === null)
    return `${kubernetesVersion} is not a Kubernetes version, for example ${minors.at(-1)!.kubernetes}`
  const talos = rowOf(rows, talosVersion)
  if (talos === undefined)
    return `Talos ${talosVersion} is not supported; choose ${supportedText()}`
  const [first, last] = talos.kubernetesMinors
  const minor = Number(match[2])
  if (match[1] === '1' && minor >= first && minor <= last) return undefined
  return `Talos ${talos.minor} runs Kubernetes 1.${first} to 1.${last}, not ${kubernetesVersion}`
}

/**
 * Why a server with Talos `from` can't be upgraded to `to`, or undefined. Within a minor every
 * patch release is allowed.
 */
export function upgradeProblem(from: string, to: string): string | undefined {
  const target = supportedMinor(to)
  if (target === undefined) return `Talos ${to} is not supported; choose ${supportedText()}`
  const now = contractOf(from)
  const minor: Minor = `1.${now.minor}`
  if (minor === target.minor || minor === target.upgradesFrom) return undefined
  if (isSince(from, target.minor))
    return `Talos ${from} can't become ${to}: Talos does not go back to an older minor`
  return `Talos ${from} can't become ${to}: upgrade one minor at a time, first to ${now.major}.${now.minor + 1}`
}

/** Whether `to` is older than `from`, within their minor. */
export function isOlderPatch(from: string, to: string): boolean {
  const [before, after] = [from, to].map(
    (version) => /^v?(\d+)\.(\d+)\.(\d+)/.exec(version)?.slice(1).map(Number) ?? [],
  )
  return before![0] === after![0] && before![1] === after![1] && after![2]! < before![2]!
}

/** Image references of a Talos or Kubernetes version. */
export const images = {
  /**
   * The installer with a schematic's extensions. Must match the boot image, or the extensions
   * disappear at installation.
   */
  factoryInstaller: (
    schematic: string,
    talosVersion: string,
    options: { secureBoot?: boolean; factory?: string } = {},
  ) =>
    `${options.factory ?? 'factory.talos.dev'}/metal-installer${options.secureBoot === true ? '-secureboot' : ''}/${schematic}:${tag(talosVersion)}`,
  kubelet: (kubernetesVersion: string) => `ghcr.io/siderolabs/kubelet:${tag(kubernetesVersion)}`,
  apiServer: (kubernetesVersion: string) =>
    `registry.k8s.io/kube-apiserver:${tag(kubernetesVersion)}`,
  controllerManager: (kubernetesVersion: string) =>
    `registry.k8s.io/kube-controller-manager:${tag(kubernetesVersion)}`,
  scheduler: (kubernetesVersion: string) =>
    `registry.k8s.io/kube-scheduler:${tag(kubernetesVersion)}`,
  proxy: (kubernetesVersion: string) => `registry.k8s.io/kube-proxy:${tag(kubernetesVersion)}`,
} as const

function tag(version: string): string {
  return version.startsWith('v') ? version : `v${version}`
}

/** Orders versions of Talos or of Kubernetes, the lowest first. They may start with `v`. */
export const byVersion = (a: string, b: string): number =>
  a.replace(/^v/, '').localeCompare(b.replace(/^v/, ''), 'en', { numeric: true })
