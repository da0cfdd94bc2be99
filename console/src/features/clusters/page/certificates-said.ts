import { certificateKinds } from '#contract/clusters/certificates.ts'
import type { Cluster } from '#contract/clusters/clusters.ts'
import { until } from '../../../lib/time/time.ts'
import type { Marked } from '../../../ui/feedback/finding-tones.ts'
import { serverNow } from '../../../lib/time/server-time.ts'

/** The certificates of a server that should be renewed by now; null if all are as they should be. */
export function certificatesSaid(
  { certificates_ending: all = [] }: Pick<Cluster, 'certificates_ending'>,
  server: string,
  now = serverNow(),
): Marked | null {
  const [first, ...more] = all
    .filter((c) => c.name === server)
    .toSorted((a, b) => a.ends_at.localeCompare(b.ends_at))
  if (first === undefined) return null
  const others = more.length === 0 ? '' : ` and ${more.length} more`
  return {
    tone: 'warn',
    word: Date.parse(first.ends_at) <= now ? 'Expired' : 'Expires soon',
    why: `${certificateKinds[first.kind].title}, ${until(first.ends_at, now)}${others}. ${first.reason}`,
  }
}
