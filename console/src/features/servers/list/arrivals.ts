/** Servers that join while the list is open. */
import type { Server } from '#contract/servers/servers.ts'
import { counted } from '#contract/words.ts'

type Listed = Pick<Server, 'id' | 'name' | 'created_at' | 'status'>

/** Maximum age, in ms, of a new server. An older one that enters a filter by a change is not new. */
const recentMs = 5 * 60_000
/** How long a new row is marked, in ms. */
export const markedForMs = 60_000

/** New servers among `items`. `before`: ids that the same list showed last; without it nothing is new. */
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
