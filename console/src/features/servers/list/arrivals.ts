/** Servers that join while the list is open. */
import { useEffect, useState } from 'react'
import type { ListedServer } from '#contract/servers/servers.ts'
import { counted } from '#contract/words.ts'
import { createStore } from '../../../lib/store.ts'
import { serverNow } from '../../../lib/time/server-time.ts'

type Listed = Pick<ListedServer, 'id' | 'name' | 'created_at' | 'status'>

/**
 * Maximum age, in ms, of a new server. An older server that newly matches the filters is not new.
 */
const recentMs = 5 * 60_000
/** How long a new row is marked, in ms. */
const markedForMs = 60_000

/**
 * New servers among `items`. `before`: ids that the same list showed before; if null, nothing is
 * new.
 */
export function joined(
  before: ReadonlySet<string> | null,
  items: readonly Listed[],
  now = serverNow(),
): Listed[] {
  if (before === null) return []
  return items.filter(
    (s) => !before.has(s.id) && s.status !== 'deleted' && now - Date.parse(s.created_at) < recentMs,
  )
}

/** "4 servers joined: a, b, c and 1 more" */
export function joinedSentence(servers: readonly Pick<ListedServer, 'name'>[]): string {
  const shown = servers.slice(0, 4).map((s) => s.name)
  const more = servers.length - shown.length
  return `${counted(servers.length, 'server')} joined: ${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

/** Ids of servers marked as new. */
export const newServers = createStore<ReadonlySet<string>>(new Set())

/**
 * Marks the rows of servers that join while the list is open. `said` is the sentence that announces
 * these servers, or null if none has joined. `list` identifies the search that is shown.
 */
export function useArrivals(
  list: string,
  items: readonly ListedServer[] | undefined,
  shownAt: number,
): { said: string | null; dismiss: () => void } {
  const [seen, setSeen] = useState<{ list: string; at: number; ids: ReadonlySet<string> | null }>({
    list,
    at: 0,
    ids: null,
  })
  const [came, setCame] = useState<readonly ListedServer[]>([])
  if (items !== undefined && (seen.list !== list || seen.at !== shownAt)) {
    const before = seen.list === list ? seen.ids : null
    const fresh = new Set(joined(before, items).map((s) => s.id))
    setSeen({ list, at: shownAt, ids: new Set([...(before ?? []), ...items.map((s) => s.id)]) })
    // Servers that arrive shortly after each other are announced together.
    if (fresh.size > 0)
      setCame([
        ...came,
        ...items.filter((s) => fresh.has(s.id) && came.every((c) => c.id !== s.id)),
      ])
  }
  useEffect(() => {
    newServers.set(new Set(came.map((s) => s.id)))
    if (came.length === 0) return undefined
    const timer = setTimeout(() => setCame([]), markedForMs)
    return () => clearTimeout(timer)
  }, [came])
  useEffect(() => () => newServers.set(new Set()), [])
  return { said: came.length === 0 ? null : joinedSentence(came), dismiss: () => setCame([]) }
}
