/**
 * Keeps in memory what lists show of every server, as JSON, so that a list is only joined from
 * texts. Whole servers are read from the database (`whole.ts`). Before each use the catalogue reads
 * the database's current snapshot, with one short query for all waiting requests, and the changes
 * since the previous snapshot. So every process sees what any process has committed.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { comparing, filtersOf, passing } from '#contract/list.ts'
import type { Input } from '#contract/operation.ts'
import { serverList } from '#contract/servers/server.ts'
import type { Platform } from '../../../platform.ts'
import { type Entry, filterReaders, sortReaders } from '../present.ts'
import * as store from '../store.ts'
import { duplicateIndex } from './duplicates.ts'
import { digested, joined, type Kept, noteContact, type ServerPage } from './kept.ts'
import { needlesOf } from './search.ts'
import { add, type Bits, both, countOf, has, searchIndex } from './search-index.ts'
import { wholeServers } from './whole.ts'

type ListQuery = Input<typeof serverList>['query']

/** Number of servers per read at the start; other requests are answered between the reads. */
const portion = 40
const lowestId = '00000000-0000-0000-0000-000000000000'
/**
 * Limits of the caches of pages and of search results. Pages are cached because most requests are
 * equal and joining a page costs as much as sending it.
 */
const mostPageBytes = 8 * 1024 ** 2
const mostRemembered = 64

/**
 * Whether the passage of time alone changes the result, so that it isn't cached: it makes a silent
 * server unreachable.
 */
const changesByItself = ({ reachable }: Pick<Partial<ListQuery>, 'reachable'>) =>
  reachable !== undefined

export type Catalogue = ReturnType<typeof catalogue>

export function catalogue({ db, pool, clock }: Pick<Platform, 'db' | 'pool' | 'clock'>) {
  const kept = new Map<string, Kept>()
  const bySlot: Kept[] = []
  const index = searchIndex()
  const claimed = duplicateIndex()
  /** The index contains the servers with lower numbers. */
  let indexed = 0
  let seen: string | undefined
  /**
   * All servers by sort order. They are sorted again after a change, which is quick if little has
   * changed.
   */
  const orders = new Map<string, { entries: Kept[]; slots: Uint32Array; isSorted: boolean }>()
  /** The servers that pass filters, by filters. */
  const filtered = new Map<string, Bits>()
  /** Also pages that are still being joined. */
  const pages = new Map<string, Promise<ServerPage>>()
  let pageBytes = 0
  let revision = 0

  const forgetPages = (): void => {
    pages.clear()
    pageBytes = 0
  }
  const put = (row: store.ServerRow, contact: Date | null): void => {
    const old = kept.get(row.id)
    const made = digested(row, contact)
    const slot = old?.slot ?? kept.size
    if (slot < indexed && old?.text !== made.text) index.set(slot, made.text, old?.text)
    const before = old?.claims ?? []
    const entry: Kept = old ? Object.assign(old, made) : { ...made, slot }
    claimed.change(entry, before, made.claims)
    kept.set(row.id, entry)
    revision++
    bySlot[slot] = entry
    for (const order of orders.values()) {
      if (!old) order.entries.push(entry)
      order.isSorted = false
    }
    filtered.clear()
    forgetPages()
  }
  const contacted = (id: string, at: Date): void => {
    const entry = kept.get(id)
    if (!entry || entry.contact?.getTime() === at.getTime()) return
    if (entry.contact === null) revision++
    noteContact(entry, at)
    forgetPages()
    for (const key of ['contact', '-contact']) orders.delete(key)
  }

  const loadAll = async (): Promise<void> => {
    const contacts = await store.contactsOf(db)
    const after = (id: string) => {
      const reading = store.after(db, id, portion)
      // Reported where it is awaited.
      reading.catch(() => undefined)
      return reading
    }
    for (let reading = after(lowestId); ;) {
      const rows = await reading
      const isLast = rows.length < portion
      // The database reads the next servers while these are serialised.
      if (!isLast) reading = after(rows.at(-1)!.id)
      for (const row of rows) put(row, contacts.get(row.id) ?? null)
      if (isLast) return
      await nextTurn()
    }
  }
  let indexing: Promise<void> | undefined
  /**
   * Adds the servers that the index lacks, in small portions. It takes half as long as reading all
   * servers, so nobody waits for it.
   */
  const indexAll = async (): Promise<void> => {
    while (indexed < bySlot.length) {
      for (const { slot, text } of bySlot.slice(indexed, indexed + portion)) index.set(slot, text)
      indexed = Math.min(indexed + portion, bySlot.length)
      await nextTurn()
    }
  }
  const load = async (): Promise<void> => {
    const now = await store.snapshot(pool)
    if (now === seen) return
    if (seen === undefined) await loadAll()
    else {
      const { rows, contacts } = await store.changesSince(db, seen)
      for (const row of rows) put(row, kept.get(row.id)?.contact ?? null)
      for (const { server_id, at } of contacts) contacted(server_id, at)
    }
    seen = now
    indexing ??= indexAll().finally(() => (indexing = undefined))
  }

  let running: Promise<void> | undefined
  let next: Promise<void> | undefined
  /**
   * One query at a time. Concurrent callers share the next one, because the running one may have
   * missed their write.
   */
  const refresh = (): Promise<void> => {
    if (!running) {
      // The requests that have arrived together share a query.
      running = nextTurn()
        .then(load)
        .finally(() => (running = undefined))
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

  /**
   * The numbers of all servers in order, side by side in memory, because each page walks over them.
   */
  const ordered = (sort: ListQuery['sort'] = serverList.list.order): Uint32Array => {
    const order = orders.get(sort) ?? {
      entries: [...kept.values()],
      slots: new Uint32Array(),
      isSorted: false,
    }
    orders.set(sort, order)
    if (!order.isSorted) {
      order.entries.sort(
        comparing(serverList.list, sortReaders, sort, [sortReaders.name, ({ row }) => row.id]),
      )
      order.slots = Uint32Array.from(order.entries, ({ slot }) => slot)
      order.isSorted = true
    }
    return order.slots
  }

  /**
   * The servers that pass the query's filters. Removed servers pass only if the query asks for
   * them.
   */
  const passed = (query: ListQuery): Bits => {
    const key = JSON.stringify(filtersOf(serverList.list).map(([name]) => query[name]))
    const known = filtered.get(key)
    if (known) return known
    const passes = passing(serverList.list, filterReaders(clock.now()), query)
    const found = new Uint32Array(Math.ceil(bySlot.length / 32))
    for (const entry of bySlot)
      if ((query.status !== undefined || entry.row.status !== 'deleted') && passes(entry))
        add(found, entry.slot)
    if (filtered.size >= mostRemembered) filtered.clear()
    if (!changesByItself({ reachable: query.reachable })) filtered.set(key, found)
    return found
  }
  /**
   * The servers whose text contains one of the needles. Reads the texts that the index lacks: a few
   * milliseconds for ten thousand.
   */
  const matching = (needles: readonly string[]): Bits => {
    const found = index.find(needles, (slot) => bySlot[slot]!.text)
    if (indexed === bySlot.length) return found
    const all = new Uint32Array(Math.max(found.length, Math.ceil(bySlot.length / 32)))
    all.set(found)
    for (const { slot, text } of bySlot.slice(indexed))
      if (needles.some((needle) => text.includes(needle))) add(all, slot)
    return all
  }
  /** The servers that pass the search and the filters. */
  const narrowed = (query: ListQuery, needles: readonly string[]): Bits => {
    const allowed = passed(query)
    return needles.length === 0 ? allowed : both(matching(needles), allowed)
  }
  const pageOf = async (query: ListQuery): Promise<ServerPage> => {
    const { page, per_page } = query
    const needles = needlesOf(query.q ?? '')
    const found = narrowed(query, needles)
    const entries: Kept[] = []
    const total = countOf(found)
    const slots = ordered(query.sort)
    // Ends with the last server of the page: the others need not be looked at, because they are
    // counted already.
    for (
      let i = 0, before = (page - 1) * per_page, left = Math.min(per_page, total - before);
      left > 0 && i < slots.length;
      i++
    ) {
      const slot = slots[i]!
      if (!has(found, slot) || before-- > 0) continue
      entries.push(bySlot[slot]!)
      left--
    }
    const whole =
      query.fields === 'list'
        ? undefined
        : await wholeServers(
            db,
            entries.map(({ row }) => row.id),
          )
    return joined(entries, { whole, needles, page, per_page, total })
  }
  /** Keeps a page until a server changes. One that is forgotten meanwhile isn't counted. */
  const remember = async (key: string, page: Promise<ServerPage>): Promise<void> => {
    pages.set(key, page)
    const made = await page.catch(() => undefined)
    if (pages.get(key) !== page) return
    if (made === undefined) {
      pages.delete(key)
      return
    }
    if (pageBytes + made.bytes.length > mostPageBytes) {
      forgetPages()
      pages.set(key, page)
    }
    pageBytes += made.bytes.length
  }

  return {
    async page(query: ListQuery): Promise<ServerPage> {
      await refresh()
      const key = JSON.stringify(query)
      const known = pages.get(key)
      if (known) return known
      const made = pageOf(query)
      if (!changesByItself(query)) void remember(key, made)
      return made
    },
    /** The matches of every page in order, as of now; entries change with their servers. */
    async matches(query: Omit<ListQuery, 'page' | 'per_page'>): Promise<Kept[]> {
      await refresh()
      const all = { ...query, page: 1, per_page: kept.size }
      const found = narrowed(all, needlesOf(query.q ?? ''))
      return Array.from(ordered(query.sort)).flatMap((slot) =>
        has(found, slot) ? [bySlot[slot]!] : [],
      )
    },
    /** Ids of the servers that the query finds, on all pages; undefined if more than `most`. */
    async idsOf(query: ListQuery, most: number): Promise<string[] | undefined> {
      await refresh()
      const found = narrowed(query, needlesOf(query.q ?? ''))
      if (countOf(found) > most) return undefined
      return [...ordered(query.sort)].flatMap((slot) =>
        has(found, slot) ? [bySlot[slot]!.row.id] : [],
      )
    },
    /** All servers in the database now, including removed ones. */
    async entries(): Promise<Iterable<Entry>> {
      await refresh()
      return kept.values()
    },
    /**
     * Grows with every change of a server and with a server's first contact, but not with further
     * contacts.
     */
    revision: (): number => revision,
    /** The server with an address, if it isn't removed. */
    async atAddress(address: string): Promise<store.ListedRow | undefined> {
      await refresh()
      const found = kept
        .values()
        .find(
          ({ row, facts }) =>
            row.status !== 'deleted' &&
            (row.address === address || facts.addresses.includes(address)),
        )
      return found?.row
    },
    /** What several servers have, as of the last refresh. */
    duplicates: () => claimed.duplicates(clock.now()),
    /** The servers as of the last refresh, without a new query. */
    known: (id: string): Entry | undefined => kept.get(id),
  }
}
