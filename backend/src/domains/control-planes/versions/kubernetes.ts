/** Allowed upgrades of Kubernetes, and the image names of a version. Pure. */
import type { MachineImages } from '#talos/facts/images.ts'
import { byVersion, images as defaults, kubernetesProblem } from '#talos/versions.ts'

/**
 * The components of a control plane in the order of the upgrade: an API server must not be older
 * than its clients (Kubernetes, "Version Skew Policy").
 */
export const staticPods = {
  'kube-apiserver': 'apiServer',
  'kube-controller-manager': 'controllerManager',
  'kube-scheduler': 'scheduler',
} as const
export type StaticPod = keyof typeof staticPods

export const bare = (version: string): string => version.replace(/^v/, '')
export const minorOf = (version: string): number => Number(bare(version).split('.')[1])
const patchOf = (version: string): number => Number(bare(version).split('.')[2])

/** An API server that the configuration of a control plane names. */
export interface ApiServer {
  readonly name: string
  readonly version: string
}

/**
 * Why the cluster can't be upgraded to this version, or null. `talos`: the versions that its
 * servers run. `apiServers`: those of its control planes. After an upgrade that has stopped they
 * are ahead of the cluster's version, which is that of the kubelets.
 */
export function pathProblem({
  from,
  to,
  talos,
  apiServers,
}: {
  readonly from: string
  readonly to: string
  readonly talos: readonly string[]
  readonly apiServers: readonly ApiServer[]
}): string | null {
  for (const version of new Set(talos)) {
    const problem = kubernetesProblem(version, to)
    if (problem !== undefined) return problem
  }
  const [a, b] = [bare(from), bare(to)]
  const step = minorOf(b) - minorOf(a)
  if (step < 0 || (step === 0 && patchOf(b) < patchOf(a)))
    return `The cluster runs Kubernetes ${a}: Kubernetes can't go back to ${b}, because its objects may be stored in newer forms`
  if (step > 1)
    return `Kubernetes is upgraded one minor release at a time: from ${a} to 1.${minorOf(a) + 1} first, then on to ${b}`
  // An API server doesn't go back, and no other component is newer (Kubernetes, "Version Skew
  // Policy").
  const newest = apiServers.toSorted((x, y) => byVersion(y.version, x.version))[0]
  return newest === undefined || byVersion(newest.version, b) <= 0
    ? null
    : `An upgrade to Kubernetes ${newest.version} has begun and has not ended: ${newest.name} has its API server, which can't go back to ${b}, because objects may be stored in newer forms. Upgrade to ${newest.version} or a newer patch release first`
}

/** An image with a digest always names the same build. */
const pinned = /@sha256:/
const tagged = /^(.*?)(?::v?\d+\.\d+\.\d+(-fat|-slim)?)?$/

/**
 * The image of a program in another version: from the same registry, and for a kubelet of the same
 * variant (`-slim`, `-fat`). Null for an image with a digest or another tag.
 */
export function imageFor(
  program: Exclude<keyof MachineImages, 'install'>,
  current: string | undefined,
  version: string,
): string | null {
  if (current === undefined || current === '') return defaults[program](version)
  if (pinned.test(current)) return null
  const [, repository, variant = ''] = tagged.exec(current) ?? []
  const isWhole = repository !== undefined && repository !== current
  return isWhole ? `${repository}:v${bare(version)}${variant}` : null
}
