/**
 * Talos versions and what follows from them. To add a minor: a row in `minors`, its differences in `config/generate.ts`, its documents in
 * `config/schema`, and the tests that name the newest minor. Source of each fact: Talos `pkg/machinery/compatibility` and
 * `pkg/machinery/constants` at the named tag.
 */

/** A version of Talos reduced to what decides the form of a configuration (Talos `pkg/machinery/config/contract.go`). */
export interface Contract {
  major: number
  minor: number
}

export interface TalosMinor {
  /** `1.13` */
  minor: string
  /** The newest tag that is offered. */
  version: string
  /** Kubernetes version that this tag installs by itself. */
  kubernetes: string
  /** Supported Kubernetes minors, first to last. */
  kubernetesMinors: readonly [number, number]
}

/** Minors that configurations are generated for, oldest first. */
export const minors: readonly TalosMinor[] = [
  { minor: '1.12', version: 'v1.12.11', kubernetes: '1.35.4', kubernetesMinors: [30, 35] },
  { minor: '1.13', version: 'v1.13.9', kubernetes: '1.36.3', kubernetesMinors: [31, 36] },
]

export interface SupportedPair {
  talos: string
  kubernetes: string
}

/** Pairs that are offered for a new cluster, the newest first: each Talos tag with the Kubernetes version it was released with. */
export const supportedPairs: readonly SupportedPair[] = minors.map((m) => ({ talos: m.version, kubernetes: m.kubernetes })).toReversed()

/**
 * Reads `v1.13.9`, `1.13` and the like. Throws an Error for other text. Without a version: the newest minor that we generate for.
 */
export function contractOf(version?: Contract | string): Contract {
  if (typeof version === 'object') return version
  const match = /^v?(\d{1,4})\.(\d{1,4})($|\.)/.exec(version ?? minors.at(-1)!.minor)
  if (match === null) throw new Error(`Not a Talos version: ${version}`)
  return { major: Number(match[1]), minor: Number(match[2]) }
}

/** The supported minor of a version, or undefined. */
export function supportedMinor(version: Contract | string): TalosMinor | undefined {
  const { major, minor } = contractOf(version)
  return minors.find((m) => m.minor === `${major}.${minor}`)
}

/** Why Talos would refuse this Kubernetes version, or undefined where it takes it. */
export function kubernetesProblem(talosVersion: string, kubernetesVersion: string): string | undefined {
  const match = /^v?(\d{1,4})\.(\d{1,4})\.\d{1,4}(-[0-9A-Za-z.-]+)?$/.exec(kubernetesVersion)
  if (match === null) return `${kubernetesVersion} is not a Kubernetes version, for example ${minors.at(-1)!.kubernetes}`
  const talos = supportedMinor(talosVersion)
  if (talos === undefined) return `Talos ${talosVersion} is not supported; choose ${minors.map((m) => m.minor).join(' or ')}`
  const [first, last] = talos.kubernetesMinors
  const minor = Number(match[2])
  if (match[1] === '1' && minor >= first && minor <= last) return undefined
  return `Talos ${talos.minor} runs Kubernetes 1.${first} to 1.${last}, not ${kubernetesVersion}`
}

/** Talos after 1.6 signs service accounts' tokens with RSA-4096. */
export function hasRsaServiceAccountKey(contract: Contract): boolean {
  return contract.major > 1 || contract.minor > 6
}

/** Images of Talos's release, with the tag that the version gives. */
export const images = {
  installer: (talosVersion: string) => `ghcr.io/siderolabs/installer:${tag(talosVersion)}`,
  /** The installer that carries a schematic's extensions; it must be that of the boot image, or they disappear at installation. */
  factoryInstaller: (schematic: string, talosVersion: string, options: { secureBoot?: boolean; factory?: string } = {}) =>
    `${options.factory ?? 'factory.talos.dev'}/metal-installer${options.secureBoot === true ? '-secureboot' : ''}/${schematic}:${tag(talosVersion)}`,
  kubelet: (kubernetesVersion: string) => `ghcr.io/siderolabs/kubelet:${tag(kubernetesVersion)}`,
  apiServer: (kubernetesVersion: string) => `registry.k8s.io/kube-apiserver:${tag(kubernetesVersion)}`,
  controllerManager: (kubernetesVersion: string) => `registry.k8s.io/kube-controller-manager:${tag(kubernetesVersion)}`,
  scheduler: (kubernetesVersion: string) => `registry.k8s.io/kube-scheduler:${tag(kubernetesVersion)}`,
  proxy: (kubernetesVersion: string) => `registry.k8s.io/kube-proxy:${tag(kubernetesVersion)}`,
} as const

function tag(version: string): string {
  return version.startsWith('v') ? version : `v${version}`
}
