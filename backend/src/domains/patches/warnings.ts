/** What saving a patch would break although Talos takes it: checks for joining a cluster that would no longer hold, and links that aren't there. */
import type { PreviewWarning } from '#contract/patches.ts'
import type { ForClusters } from '../servers/for-clusters.ts'
import type { ServerFacts } from '../servers/present.ts'
import type { LinkUse } from './links.ts'

export interface WarningsInput {
  readonly server: ServerFacts
  /** What all its patches would configure together; see `linksOf`. */
  readonly links: readonly string[]
  readonly missing: readonly LinkUse[]
}

const mostNamed = 6

export function warningsOf({ server, links, missing }: WarningsInput, { eligibilityFor }: Pick<ForClusters, 'eligibilityFor'>): PreviewWarning[] {
  const held = new Set(eligibilityFor(server).flatMap((e) => (e.ok ? [e.check] : [])))
  const patch_links = [...new Set(links)].toSorted()
  const lost = eligibilityFor({ ...server, patch_links }).filter((e) => !e.ok && held.has(e.check))
  const own = server.links.filter((l) => l.physical).map((l) => l.name)
  const has = own.length === 0 ? 'none' : own.slice(0, mostNamed).join(', ') + (own.length > mostNamed ? ` and ${own.length - mostNamed} more` : '')
  return [
    ...lost.map((e) => ({ check: e.check, message: e.reason!, link: e.check === 'management_address' ? server.link : null, line: null })),
    ...missing.map(({ link, line }) => ({ check: null, message: `${server.name} has no link ${link}: it has ${has}`, link, line })),
  ]
}
