/**
 * Answers from the database while the servers are still being read into memory, which takes ten thousand servers some seconds after a start: pages by name
 * without filters, and single servers.
 */
import { filtersOf } from '#contract/list.ts'
import type { Input } from '#contract/operation.ts'
import { type Server, serverList } from '#contract/servers/server.ts'
import type { Platform } from '../../../platform.ts'
import * as store from '../store.ts'
import { digested, joined, type Kept, type ServerPage, serverOf } from './kept.ts'

export type ListQuery = Input<typeof serverList>['query']

/** Number of servers that are read before the first list is asked for. */
const mostPrepared = 100

interface Part {
  /** The database's snapshot before the servers were read. */
  readonly at: string
  readonly skipped: number
  /** Serialises the servers at the first call. */
  readonly entries: () => readonly Kept[]
  readonly length: number
  readonly total: number
}

export function earlyAnswers({ db, pool }: Pick<Platform, 'db' | 'pool'>) {
  /** The part of the list that was read last. */
  let known: Part | undefined
  let isOver = false
  let last: Promise<unknown> = Promise.resolve()
  /** One at a time, so that the reading of all servers also advances. */
  const inTurn = <T>(act: () => Promise<T>): Promise<T> => {
    const done = last.then(act)
    // Without the result, which would stay in memory.
    last = done.then(
      () => undefined,
      () => undefined,
    )
    return done
  }
  const kept = (row: store.ServerRow, contacts: ReadonlyMap<string, Date>): Kept => ({ ...digested(row, contacts.get(row.id) ?? null), slot: 0 })

  const read = async (skipped: number, most: number): Promise<Part> => {
    const at = await store.snapshot(pool)
    const { rows, total } = await store.byName(db, skipped, most)
    const contacts = await store.contactsOf(
      db,
      rows.map((r) => r.id),
    )
    let entries: readonly Kept[] | undefined
    const part = { at, skipped, entries: () => (entries ??= rows.map((row) => kept(row, contacts))), length: rows.length, total }
    if (!isOver) known = part
    return part
  }
  const isUnchanged = async (since: string): Promise<boolean> => {
    if ((await store.snapshot(pool)) === since) return true
    const { rows, contacts } = await store.changesSince(db, since)
    return rows.length + contacts.length === 0
  }

  return {
    canAnswer: (query: ListQuery): boolean =>
      !query.q && (query.sort ?? serverList.list.order) === 'name' && filtersOf(serverList.list).every(([key]) => query[key] === undefined),
    /**
     * Reads the first servers before somebody asks for them: the first read after a start takes much longer than later ones. The returned function serialises
     * them, which takes this process as long as the database takes to read them.
     */
    prepare: (): Promise<() => unknown> => inTurn(async () => (await read(0, mostPrepared)).entries),
    page: ({ page, per_page, fields }: ListQuery): Promise<ServerPage> =>
      inTurn(async () => {
        const skipped = (page - 1) * per_page
        const part = known
        const has = part?.skipped === skipped && part.length >= Math.min(per_page, part.total - skipped) && (await isUnchanged(part.at))
        const { entries, total } = has ? part : await read(skipped, per_page)
        return joined(entries().slice(0, per_page), { needles: [], fields, page, per_page, total }, true)
      }),
    one: (id: string): Promise<Server | undefined> =>
      inTurn(async () => {
        const row = await store.byId(db, id)
        return row && serverOf(kept(row, await store.contactsOf(db, [id])))
      }),
    /** Resolves when the answers that were asked for until now are ready. */
    settled: (): Promise<unknown> => last,
    /** All servers are in memory. */
    end(): void {
      isOver = true
      known = undefined
    },
  }
}
