/** Queries of the server pages. */
import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import * as z from 'zod/mini'
import type { Page } from '#contract/page.ts'
import { Resources, type Server, serverGet, serverList } from '#contract/servers/servers.ts'
import { call, CallError } from '../../api/client.ts'
import { keyOf, queryClient } from '../../api/query.ts'
import { askedOf, type ListSearch } from '../../lib/list-search.ts'

const empty = (): Resources => z.parse(Resources, {})

/**
 * Parses a server's hardware, an object or its JSON text. Input that breaks the schema becomes empty lists, with a warning
 * on the console, so that one odd machine doesn't break the page. Text that is not JSON becomes null.
 */
export function readResources(given: unknown): Resources | null {
  let value = given
  if (typeof given === 'string') {
    try {
      value = JSON.parse(given)
    } catch {
      return null
    }
  }
  const read = z.safeParse(Resources, value)
  if (read.success) return read.data
  // oxlint-disable-next-line no-console -- the specification asks for this warning
  console.warn('Resources of a server could not be read; shown as empty.', z.prettifyError(read.error))
  return empty()
}

/** Like `readResources`, with empty lists instead of null. */
export const resourcesOf = (given: unknown): Resources => readResources(given) ?? empty()

const readable = (s: Server): Server => ({ ...s, resources: resourcesOf(s.resources) })

/** A page of the list, cached under `servers`, without disks and interfaces. An opened row fetches its server's disks and interfaces. */
export function serversQuery(search: ListSearch) {
  const asked = { query: { ...askedOf(serverList, search), fields: 'summary' as const } }
  return queryOptions<Page<Server>>({
    queryKey: [keyOf(serverList), asked],
    queryFn: async ({ signal }) => {
      const page = await call(serverList, asked, signal)
      return { ...page, items: page.items.map(readable) }
    },
    placeholderData: keepPreviousData,
  })
}

/** One server with its hardware. If the server doesn't exist, throws an error with the specified sentence. */
export function serverQueryOf(id: string) {
  return queryOptions<Server>({
    queryKey: [keyOf(serverGet), { params: { id } }],
    queryFn: async ({ signal }) => {
      try {
        return readable(await call(serverGet, { params: { id } }, signal))
      } catch (error) {
        if (!(error instanceof CallError) || (error.status !== 404 && error.status !== 400)) throw error
        throw new CallError(notFound(id), { status: 404, code: 'not_found' })
      }
    },
  })
}

const notFound = (id: string): string => `Server ${id} not found`

/** Refetches the lists and the server after a change. */
export const refreshServers = (id?: string): Promise<unknown> =>
  Promise.all([
    queryClient.invalidateQueries({ queryKey: [keyOf(serverList)] }),
    queryClient.invalidateQueries({ queryKey: id === undefined ? [keyOf(serverGet)] : [keyOf(serverGet), { params: { id } }] }),
  ])
