/**
 * Fails with a sentence if a minor of Talos or Kubernetes is published that Steelyard doesn't know
 * yet. Run by the nightly workflow.
 */
import { pathToFileURL } from 'node:url'
import { kubernetesSupportEnds, minors } from '#talos/versions.ts'

const recipe = 'see "A Talos version" in CONTRIBUTING.md'

const minorOf = (version: string): number =>
  Number(/^v?1\.(\d{1,4})\.\d{1,4}$/.exec(version.trim())?.[1] ?? Number.NaN)

/**
 * A sentence for each newer minor. Prereleases don't count.
 * @param talos the image factory's list, or null if it can't be read
 * @param kubernetes Kubernetes' newest release, or null
 */
export function newerMinors(talos: readonly string[] | null, kubernetes: string | null): string[] {
  const known = minorOf(minors.at(-1)!.version)
  const newest = Math.max(known, ...(talos ?? []).map(minorOf).filter((n) => !Number.isNaN(n)))
  const latest = kubernetes === null ? Number.NaN : minorOf(kubernetes)
  return [
    ...(newest > known
      ? [`Talos 1.${newest} is published, and Steelyard knows 1.${known}: ${recipe}`]
      : []),
    ...(!Number.isNaN(latest) && kubernetesSupportEnds(latest) === null
      ? [
          `Kubernetes 1.${latest} is published, and Steelyard doesn't know it: add it to kubernetesReleases (talos/versions.ts) and kubernetes-removals.ts; ${recipe}`,
        ]
      : []),
  ]
}

const textAt = async (url: string): Promise<string | null> => {
  const answer = await fetch(url, { signal: AbortSignal.timeout(30_000) }).catch(() => null)
  if (answer?.ok === true) return answer.text()
  process.stderr.write(`${url} can't be read\n`)
  return null
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const [list, stable] = await Promise.all([
    textAt('https://factory.talos.dev/versions'),
    textAt('https://dl.k8s.io/release/stable.txt'),
  ])
  const found = newerMinors(list === null ? null : (JSON.parse(list) as string[]), stable)
  for (const sentence of found) process.stdout.write(`${sentence}\n`)
  process.exitCode = found.length > 0 ? 1 : 0
}
