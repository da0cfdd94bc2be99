/**
 * Keeps every server in memory as its JSON, so that a list is only joined from bytes. Before each use the catalogue reads the database's current snapshot, with
 * one short query for all waiting requests, and the changes since the previous snapshot. So every process sees what any process has committed.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { comparing, filtersOf, passing } from '#contract/list.ts'
import type { Input } from '#contract/operation.ts'
import { type Server, serverList } from '#contract/servers/server.ts'
import type { Platform } from '../../../platform.ts'
import { type Entry, filterReaders, sortReaders } from '../present.ts'
import * as store from '../store.ts'
import { digested, joined, type Kept, noteContact, serverOf } from './kept.ts'
import { needlesOf, isFound } from './search.ts'
import { searchIndex } from './search-index.ts'

type Query = Input<typeof serverList>['query']

/** Number of servers per read at the start; other requests are answered between the reads. */
const portion = 40
const lowestId = '00000000-0000-0000-0000-000000000000'
/** Limits of the caches of pages and of search results. Pages are cached because most requests are equal and joining a page costs as much as sending it. */
const mostPageBytes = 8 * 1024 ** 2
const mostResults = 32

export function catalogue({ db, clock }: Pick<Platform, 'db' | 'clock'>) {
  const kept = new Map<string, Kept>()
  const index = searchIndex()
  let seen: string | undefined
  /** All servers by sort order. They are sorted again after a change, which is quick if little has changed. */
  const orders = new Map<string, { entries: Kept[]; isSorted: boolean }>()
  /** The servers that a search and filters find, in order. */
  const results = new Map<string, Kept[]>()
  const pages = new Map<string, Buffer>()
  let pageBytes = 0
  let revision = 0

  const forgetPages = (): void => {
    pages.clear()
    pageBytes = 0
  }
  const put = (row: store.ServerRow, contact: Date | null): void => {
    const old = kept.get(row.id)
    const made = digested(row, contact)
    const entry: Kept = old ? Object.assign(old, made) : { ...made, slot: kept.size }
    kept.set(row.id, entry)
    revision++
    index.set(entry.slot, entry.text)
    for (const order of orders.values()) {
      if (!old) order.entries.push(entry)
      order.isSorted = false
    }
    results.clear()
    forgetPages()
  }
  const contacted = (id: string, at: Date): void => {
    const entry = kept.get(id)
    if (!entry || entry.contact?.getTime() === at.getTime()) return
    if (entry.contact === null) revision++
    noteContact(entry, at)
    forgetPages()
    for (const key of ['contact', '-contact']) if (orders.delete(key)) results.clear()
  }

  /** The first page, if it is being read. */
  let first: Promise<Buffer> | undefined
  let hasReadFirst = false
  const loadAll = async (): Promise<void> => {
    const contacts = await store.contactsOf(db)
    for (let last = lowestId; ;) {
      await first?.catch(() => undefined)
      const rows = await store.after(db, last, portion)
      for (const row of rows) put(row, contacts.get(row.id) ?? null)
      if (rows.length < portion) return
      last = rows.at(-1)!.id
      await nextTurn()
    }
  }
  const load = async (): Promise<void> => {
    const now = await store.snapshot(db)
    if (now === seen) return
    if (seen === undefined) await loadAll()
    else {
      const { rows, contacts } = await store.changesSince(db, seen)
      for (const row of rows) put(row, kept.get(row.id)?.contact ?? null)
      for (const { server_id, at } of contacts) contacted(server_id, at)
    }
    seen = now
  }

  let running: Promise<void> | undefined
  let next: Promise<void> | undefined
  /** One query at a time. Concurrent callers share the next one, because the running one may have missed their write. */
  const refresh = (): Promise<void> => {
    if (!running) {
      // The requests that have arrived together share a query.
      running = nextTurn()
        .then(load)
        .finally(() => {
          running = undefined
        })
      return running
    }
    next ??= running
      .catch(() => undefined)
      .then(() => {
        next = undefined
        return refresh()
      })
    return next
  }

  const ordered = (sort: Query['sort'] = serverList.list.order): Kept[] => {
    const order = orders.get(sort) ?? { entries: [...kept.values()], isSorted: false }
    orders.set(sort, order)
    if (!order.isSorted) order.entries.sort(comparing(serverList.list, sortReaders, sort, [sortReaders.name, ({ row }) => row.id]))
    order.isSorted = true
    return order.entries
  }

  const find = (query: Query, needles: readonly string[]): Kept[] => {
    const { page: _page, per_page: _size, fields: _fields, ...narrowing } = query
    const key = JSON.stringify(narrowing)
    const known = results.get(key)
    if (known) return known
    const mayContain = index.finder(needles)
    const passes = passing(serverList.list, filterReaders(clock.now()), query)
    const found = ordered(query.sort).filter(
      (entry) => mayContain(entry.slot) && (query.status !== undefined || entry.row.status !== 'deleted') && passes(entry) && isFound(entry.text, needles),
    )
    if (results.size >= mostResults) results.clear()
    // With the filter `reachable` the result isn't cached, because the passage of time alone makes a silent server unreachable.
    if (query.reachable === undefined) results.set(key, found)
    return found
  }

  /** The first page of the list while the servers are still being read (about a second for ten thousand servers). */
  const firstPage = async (query: Query): Promise<Buffer> => {
    const { rows, total } = await store.firstByName(db, query.per_page)
    const ids = rows.map((r) => r.id)
    const contacts = await store.contactsOf(db, ids)
    const entries = rows.map((row) => ({ ...digested(row, contacts.get(row.id) ?? null), slot: 0 }))
    return joined(entries, { needles: [], isSummary: query.fields === 'summary', page: 1, per_page: query.per_page, total })
  }
  const isFirst = (query: Query): boolean =>
    query.page === 1 && !query.q && (query.sort ?? serverList.list.order) === 'name' && filtersOf(serverList.list).every(([key]) => query[key] === undefined)

  return {
    /** The page as JSON text. */
    async page(query: Query): Promise<Buffer> {
      // The first page is read by itself only once, because each such query delays the reading of all servers.
      if (seen === undefined && !hasReadFirst && isFirst(query)) {
        hasReadFirst = true
        first = firstPage(query).finally(() => {
          first = undefined
          void refresh().catch(() => undefined)
        })
        return first
      }
      await refresh()
      const key = JSON.stringify(query)
      const known = pages.get(key)
      if (known) return known
      const needles = needlesOf(query.q ?? '')
      const found = find(query, needles)
      const { page, per_page } = query
      const start = (page - 1) * per_page
      const made = joined(found.slice(start, start + per_page), { needles, isSummary: query.fields === 'summary', page, per_page, total: found.length })
      if (pageBytes + made.length > mostPageBytes) forgetPages()
      if (query.reachable === undefined) {
        pages.set(key, made)
        pageBytes += made.length
      }
      return made
    },
    async one(id: string): Promise<Server | undefined> {
      await refresh()
      const entry = kept.get(id)
      return entry && serverOf(entry)
    },
    /** All servers in the database now, including removed ones. */
    async entries(): Promise<Iterable<Entry>> {
      await refresh()
      return kept.values()
    },
    /** Grows with every change of a server and with a server's first contact, but not with further contacts. */
    revision: (): number => revision,
    /** The server with an address, if it isn't removed. */
    async atAddress(address: string): Promise<store.ListedRow | undefined> {
      await refresh()
      const found = kept.values().find(({ row, facts }) => row.status !== 'deleted' && (row.address === address || facts.addresses.includes(address)))
      return found?.row
    },
    /** The servers as of the last refresh, without a new query. */
    known: (id: string): Entry | undefined => kept.get(id),
  }
}
