/**
 * Fails with a sentence if a minor of Talos or Kubernetes is published that Steelyard doesn't know
 * yet, or if the published versions can't be read. Run by the nightly workflow.
 */
import { pathToFileURL } from 'node:url'
import { kubernetesSupportEnds, minors } from '#talos/versions.ts'

const recipe = 'see docs/develop/talos-version.md'

const minorOf = (version: string): number =>
  Number(/^v?1\.(\d{1,4})\.\d{1,4}$/.exec(version.trim())?.[1] ?? Number.NaN)

const sources = {
  talos: 'https://factory.talos.dev/versions',
  kubernetes: 'https://dl.k8s.io/release/stable.txt',
} as const
const unread = (what: keyof typeof sources): string =>
  `${sources[what]} can't be read, so nobody knows whether a newer minor is published`

/** The minors in the image factory's JSON list of tags; empty if it is none. */
function minorsIn(list: string): number[] {
  try {
    const tags: unknown = JSON.parse(list)
    return Array.isArray(tags)
      ? tags.map((tag) => minorOf(String(tag))).filter((n) => !Number.isNaN(n))
      : []
  } catch {
    return []
  }
}

/**
 * A sentence for each newer minor, and for each answer that can't be read. Prereleases don't count.
 * @param talos the image factory's answer; empty if there is none
 * @param kubernetes Kubernetes' newest release; empty if there is none
 */
export function newerMinors(talos: string, kubernetes: string): string[] {
  const known = minorOf(minors.at(-1)!.version)
  const published = minorsIn(talos)
  const newest = Math.max(...published)
  const latest = minorOf(kubernetes)
  return [
    ...(published.length === 0 ? [unread('talos')] : []),
    ...(Number.isNaN(latest) ? [unread('kubernetes')] : []),
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

const textAt = async (url: string): Promise<string> => {
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(30_000) })
    return answer.ok ? await answer.text() : ''
  } catch {
    return ''
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const found = newerMinors(
    ...(await Promise.all([textAt(sources.talos), textAt(sources.kubernetes)])),
  )
  for (const sentence of found) process.stdout.write(`${sentence}\n`)
  process.exitCode = found.length > 0 ? 1 : 0
}
