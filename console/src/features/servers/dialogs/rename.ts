/** The rename form's rules and the optimistic change of the cached lists. */
import * as z from 'zod/mini'
import { nameSentences } from '#contract/names.ts'
import { type Server, serverName } from '#contract/servers/servers.ts'

export const renameToasts = { done: 'Server name was updated successfully', failed: 'Server name could not be updated' } as const

/** The problem of a new name, or null. The edited server may keep its own name. */
export function nameProblem(entered: string, id: string, others: readonly Pick<Server, 'id' | 'name'>[]): string | null {
  const read = z.safeParse(serverName, entered)
  if (!read.success) return read.error.issues[0]?.message ?? nameSentences('Server').characters
  return others.some((s) => s.id !== id && s.name === read.data) ? nameSentences('Server').taken : null
}

/** Changes a server's name in a cached page. Returns the same object if the server is not on it. */
export function withName<P extends { items: Pick<Server, 'id' | 'name'>[] }>(page: P, id: string, name: string): P {
  if (!page.items.some((s) => s.id === id && s.name !== name)) return page
  return { ...page, items: page.items.map((s) => (s.id === id ? { ...s, name } : s)) }
}
