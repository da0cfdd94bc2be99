/** Servers that appear in the list while somebody looks at it. */
import type { Server } from '#contract/servers/servers.ts'
import { counted } from '#contract/words.ts'

type Listed = Pick<Server, 'id' | 'name' | 'created_at' | 'status'>

/** How long ago, in ms, a server may have been registered to count as one that has just joined: a renamed or moved one that comes into a filter has not. */
const recentMs = 5 * 60_000
/** How long, in ms, a new row is marked as new. */
export const markedForMs = 60_000

/** Those of `items` that were not there before and are new to Steelyard. `before` is what the same list showed last; without it nothing is new. */
export function joined(before: ReadonlySet<string> | null, items: readonly Listed[], now = Date.now()): Listed[] {
  if (before === null) return []
  return items.filter((s) => !before.has(s.id) && s.status !== 'deleted' && now - Date.parse(s.created_at) < recentMs)
}

/** "4 servers joined: a, b, c and 1 more" */
export function joinedSentence(servers: readonly Pick<Server, 'name'>[]): string {
  const shown = servers.slice(0, 4).map((s) => s.name)
  const more = servers.length - shown.length
  return `${counted(servers.length, 'server')} joined: ${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}
