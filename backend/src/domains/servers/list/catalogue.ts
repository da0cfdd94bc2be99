/**
 * Every server in memory, each with its JSON ready: a list of a thousand is joined, not serialised (1 MB of JSON costs 2.7 ms, and that is all
 * that such a list costs). Before each use the database is asked what changed, by transaction number, so that every process reads what any
 * process has committed.
 */
import type { Input } from '#contract/operation.ts'
import { contactStateOf } from '#contract/servers/server-trouble.ts'
import type { Server, serverList } from '#contract/servers/servers.ts'
import type { Clock } from '../../../clock.ts'
import type { Db } from '../../../db/db.ts'
import { contactOf, present } from '../present.ts'
import { isFound, matchOf, needlesOf, searchText } from './search.ts'
import { changesSince, type ServerRow } from '../store.ts'

type Query = Input<typeof serverList>['query']

export interface Entry {
  readonly row: ServerRow
  readonly contact: Date | null
}

interface Kept extends Entry {
  row: ServerRow
  contact: Date | null
  server: Server | undefined
  /** With a comma before it. */
  full: Buffer | undefined
  summary: Buffer | undefined
  search: string | undefined
  isEligible: boolean | undefined
}

export interface Catalogue {
  /** The page as JSON text. */
  page(query: Query): Promise<Buffer>
  one(id: string): Promise<Server | undefined>
  /** All servers, removed ones too, as they are in the database now. */
  entries(): Promise<Iterable<Entry>>
  /** The server, not removed, that has an address, as far as it told. */
  atAddress(address: string): Promise<ServerRow | undefined>
  /** Those of the last refresh, without asking again. */
  known(id: string): Entry | undefined
}

/** Answers kept until the next change. */
const mostPages = 16

/** What `reachable` of the list asks for. */
const contactStates = { true: 'answers', false: 'unreachable', away: 'away' } as const

export function catalogue({ db, clock }: { db: Db; clock: Clock }): Catalogue {
  const kept = new Map<string, Kept>()
  const contacts = new Map<string, Date>()
  let seen = '0'
  /** Counts changes; what was put together for one is good until the next. */
  let generation = 0
  let orders = new Map<string, Kept[]>()
  /** Whole answers: readers mostly ask the same, and a megabyte costs as much to join as to send. */
  let pages = new Map<string, Buffer>()
  let madeOf = -1
  const forgetWhatWasMade = (): void => {
    if (madeOf === generation) return
    orders = new Map()
    pages = new Map()
    madeOf = generation
  }

  const load = async (): Promise<void> => {
    const changes = await changesSince(db, seen)
    for (const row of changes.rows) {
      const old = kept.get(row.id)
      if (old && old.row.version === row.version && old.row.datacenter_code === row.datacenter_code) continue
      generation++
      kept.set(row.id, {
        row,
        contact: old?.contact ?? contacts.get(row.id) ?? null,
        server: undefined,
        full: undefined,
        summary: undefined,
        search: undefined,
        isEligible: undefined,
      })
    }
    for (const { server_id, at } of changes.contacts) {
      contacts.set(server_id, at)
      const entry = kept.get(server_id)
      if (!entry || entry.contact?.getTime() === at.getTime()) continue
      generation++
      Object.assign(entry, { contact: at, server: undefined, full: undefined, summary: undefined })
    }
    seen = changes.seen
  }

  let running: Promise<void> | undefined
  let next: Promise<void> | undefined
  /** One question at a time; who comes while one is on its way shares the one after it, because the first may have been answered before their write. */
  const refresh = (): Promise<void> => {
    if (!running) {
      running = load().finally(() => {
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

  const serverOf = (entry: Kept): Server => (entry.server ??= present(entry.row, entry.contact))
  const json = (server: object): Buffer => Buffer.from(`,${JSON.stringify(server)}`)
  const fullOf = (entry: Kept): Buffer => {
    if (!entry.full) {
      entry.full = json(serverOf(entry))
      // The text is kept, the object needn't be.
      entry.server = undefined
    }
    return entry.full
  }
  const summaryOf = (entry: Kept): Buffer => {
    const server = serverOf(entry)
    return (entry.summary ??= json({ ...server, resources: { ...server.resources, disks: [], interfaces: [] } }))
  }
  const searchOf = (entry: Kept): string => (entry.search ??= searchText(entry.row))
  /** The kept text, and in it what was found. */
  const withMatch = (text: Buffer, entry: Kept, needles: readonly string[]): Buffer => {
    const matched = matchOf(entry.row, needles)
    return matched ? Buffer.concat([text.subarray(0, -1), Buffer.from(`,"matched":${JSON.stringify(matched)}}`)]) : text
  }
  const isEligible = (entry: Kept): boolean => (entry.isEligible ??= serverOf(entry).eligibility.every((e) => e.ok))

  const matches = (query: Query, needles: readonly string[]): ((entry: Kept) => boolean) => {
    const { status, nodeType, datacenter, cluster, reachable, confirmed, eligible } = query
    return (entry) => {
      const { row } = entry
      if (status ? row.status !== status : row.status === 'deleted') return false
      if (nodeType && row.type !== nodeType) return false
      if (datacenter && row.datacenter_code !== datacenter && row.datacenter_id !== datacenter) return false
      if (cluster && row.cluster_name !== cluster && row.cluster_id !== cluster) return false
      if (reachable && contactStateOf({ status: row.status, operation_id: row.operation_id, talos: contactOf(row) }, clock.now()) !== contactStates[reachable])
        return false
      if (confirmed && String(row.identity_state === 'confirmed') !== confirmed) return false
      if (eligible && String(isEligible(entry)) !== eligible) return false
      return isFound(searchOf(entry), needles)
    }
  }

  const ordered = (sort: string): Kept[] => {
    const known = orders.get(sort)
    if (known) return known
    const made = [...kept.values()].toSorted(comparing(sort))
    orders.set(sort, made)
    return made
  }

  return {
    async page(query) {
      await refresh()
      forgetWhatWasMade()
      const key = JSON.stringify(query)
      const known = pages.get(key)
      if (known) return known
      const needles = needlesOf(query.q ?? '')
      const found = ordered(query.sort ?? 'name').filter(matches(query, needles))
      const start = (query.page - 1) * query.per_page
      const textOf = query.fields === 'summary' ? summaryOf : fullOf
      const items = found.slice(start, start + query.per_page).map((entry) => (needles.length === 0 ? textOf(entry) : withMatch(textOf(entry), entry, needles)))
      if (items[0]) items[0] = items[0].subarray(1)
      const tail = `],"page":${query.page},"per_page":${query.per_page},"total":${found.length}}`
      const page = Buffer.concat([Buffer.from('{"items":['), ...items, Buffer.from(tail)])
      // Who is away becomes unreachable by the time alone.
      if (pages.size < mostPages && query.reachable === undefined) pages.set(key, page)
      return page
    },
    async one(id) {
      await refresh()
      const entry = kept.get(id)
      return entry && serverOf(entry)
    },
    async entries() {
      await refresh()
      return kept.values()
    },
    async atAddress(address) {
      await refresh()
      const rows = kept.values().map((entry) => entry.row)
      return rows.find((r) => r.status !== 'deleted' && (r.address === address || r.hardware?.addresses.includes(address)))
    },
    known: (id) => kept.get(id),
  }
}

const keys: Record<string, (entry: Entry) => string | number | null> = {
  name: ({ row }) => row.name,
  datacenter: ({ row }) => row.datacenter_code,
  cluster: ({ row }) => row.cluster_name,
  type: ({ row }) => row.type,
  status: ({ row }) => row.status,
  contact: ({ contact }) => contact?.getTime() ?? null,
  created_at: ({ row }) => row.created_at.getTime(),
}

/** By the column, then by name, then by id; what has no value comes last in both directions. */
function comparing(sort: string): (a: Entry, b: Entry) => number {
  const isDown = sort.startsWith('-')
  const key = keys[isDown ? sort.slice(1) : sort]!
  return (a, b) => {
    const [x, y] = [key(a), key(b)]
    if (x !== y) {
      if (x === null) return 1
      if (y === null) return -1
      return x < y === isDown ? 1 : -1
    }
    if (a.row.name !== b.row.name) return a.row.name < b.row.name ? -1 : 1
    return a.row.id < b.row.id ? -1 : 1
  }
}
