/** A history of any length, and what reading its pages costs PostgreSQL. */
import { type CompiledQuery, sql } from 'kysely'
import type { Input } from '#contract/operation.ts'
import type { historyList } from '#contract/history/history.ts'
import type { HistoryObject } from '#contract/history/kinds.ts'
import { type Db, inTransaction, type Tx } from '../../db/db.ts'
import { pageQueries, type Place, type Span } from './store-pages.ts'

type Query = Partial<Input<typeof historyList>['query']>

/** How many of the entries are about the same server or cluster, or are what the name says. */
const oneIn = { server: 40, cluster: 10, person: 200, change: 5_000, datacenter: 20_000 }
const secondsBetween = 6
const began = Date.UTC(2025, 0, 1)
const idOf = (of: '8' | '9', n: number): string =>
  `00000000-0000-4000-${of}000-${String(n).padStart(12, '0')}`
const serverOf = (n: number): string => idOf('8', n)
const clusterOf = (n: number): string => idOf('9', n)
export const timeOf = (n: number): Date => new Date(began + n * secondsBetween * 1_000)
/** A page has 51 rows with the one that says whether there is another. */
const rowsOfPage = 51
/**
 * Rows that a page may read of a history of any length: its own, those of a second branch, and some
 * that a frequent kind leaves out.
 */
export const mostRows = 5 * rowsOfPage
/** Rows that a search of so many entries may read, of which so many match. */
export const mostRowsOfSearch = (entries: number, matches: number): number =>
  Math.min(2 * matches, entries / 4) + entries / 256 + mostRows

/** Inserts the entries from `from` to before `to`. Their ids are their numbers plus 1. */
const insert = (on: Tx, from: number, to: number, old: number) =>
  sql`insert into history (at, kind, object_kind, object_id, object_name, cluster_id, cluster_name, actor_kind, actor_name, requested_by, message, before, after)
    select ${new Date(began)}::timestamptz + n * make_interval(secs => ${secondsBetween}),
      case when n % ${oneIn.change} = 3 then 'patch_changed' when n % 500 = 7 then 'cluster_status' when n % ${oneIn.datacenter} = 11 then 'finding_began' when n % 2 = 0 then 'server_stage' else 'server_contact' end,
      case when n % 500 = 7 then 'cluster' when n % ${oneIn.datacenter} = 11 then 'datacenter' else 'server' end,
      (case when n % 500 = 7 then '00000000-0000-4000-9000-' || lpad((n % ${oneIn.cluster})::text, 12, '0') else '00000000-0000-4000-8000-' || lpad((n / 7 % ${oneIn.server})::text, 12, '0') end)::uuid,
      case when n % 500 = 7 then 'cluster-' || n % ${oneIn.cluster} else 'server-' || n / 7 % ${oneIn.server} end,
      ('00000000-0000-4000-9000-' || lpad((n % ${oneIn.cluster})::text, 12, '0'))::uuid,
      case when n < ${old} and n % 4 = 0 then 'former' else 'cluster-' || n % ${oneIn.cluster} end, 'steelyard',
      case when n % ${oneIn.person} = 0 then 'ada@example.com' else 'Steelyard' end,
      case when n % ${oneIn.person} = 1 then 'ada@example.com' end,
      'No answer: connection refused by 10.0.4.' || n % 250 || case when n % ${oneIn.change} = 3 then ' unusual' else '' end,
      '{"reachable": true}', '{"reachable": false, "reason": "connection refused"}'
    from generate_series(${from}::int, ${to - 1}::int) as n`.execute(on)

/**
 * Fills the history. Many entries are written without the indexes, which are built afterwards: they
 * come out the same, in a tenth of the time.
 */
export async function fill(db: Db, entries: number): Promise<void> {
  const isLong = entries > 1_000_000
  const portion = isLong ? 500_000 : 50_000
  await inTransaction(db, async (tx) => {
    await sql`set local statement_timeout = 0`.execute(tx)
    await sql`set local maintenance_work_mem = '512MB'`.execute(tx)
    const { rows: indexes } = await sql<{ name: string; made_by: string }>`
      select indexname as name, indexdef as made_by from pg_indexes
      where tablename = 'history' and indexname <> 'history_pkey'`.execute(tx)
    if (isLong) for (const { name } of indexes) await sql`drop index ${sql.id(name)}`.execute(tx)
    for (let from = 0; from < entries; from += portion)
      await insert(tx, from, Math.min(entries, from + portion), Math.round(entries / 3))
    if (isLong) for (const { made_by } of indexes) await sql.raw(made_by).execute(tx)
  })
  await inTransaction(db, async (tx) => {
    await sql`set local statement_timeout = 0`.execute(tx)
    await sql`analyze history`.execute(tx)
  })
}

interface Node {
  readonly 'Node Type': string
  readonly 'Index Name'?: string
  readonly 'Relation Name'?: string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly 'Rows Removed by Index Recheck'?: number
  readonly 'Shared Hit Blocks'?: number
  readonly 'Shared Read Blocks'?: number
  readonly Plans?: readonly Node[]
}
const nodesOf = (node: Node): Node[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)]

/** What PostgreSQL read of the history for a page. */
export interface Read {
  /** Rows of the table, also those that didn't match. */
  readonly rows: number
  /** Entries of indexes that were collected before their rows were read. */
  readonly collected: number
  /** Blocks of 8 KiB, in memory or not. */
  readonly blocks: number
  readonly indexes: readonly string[]
  readonly isWholeTable: boolean
  readonly found: number
}

const literal = (value: unknown): string => {
  if (typeof value === 'number') return String(value)
  if (Array.isArray(value)) return `array[${value.map(literal).join(', ')}]`
  return `'${(value instanceof Date ? value.toISOString() : String(value)).replaceAll("'", "''")}'`
}

async function explained(db: Db, { sql: text, parameters }: CompiledQuery): Promise<Read> {
  const { rows } = await sql<{
    'QUERY PLAN': [{ Plan: Node }]
  }>`explain (analyze, buffers, format json) ${sql.raw(
    text.replaceAll(/\$(\d+)/g, (_all, n: string) => literal(parameters[Number(n) - 1])),
  )}`.execute(db)
  const { Plan: plan } = rows[0]!['QUERY PLAN'][0]
  const nodes = nodesOf(plan)
  const ofTable = nodes.filter((node) => node['Relation Name'] === 'history')
  const touched = (node: Node): number =>
    (node['Actual Rows'] +
      (node['Rows Removed by Filter'] ?? 0) +
      (node['Rows Removed by Index Recheck'] ?? 0)) *
    node['Actual Loops']
  return {
    rows: ofTable.reduce((sum, node) => sum + touched(node), 0),
    collected: nodes
      .filter((node) => node['Node Type'] === 'Bitmap Index Scan')
      .reduce((sum, node) => sum + touched(node), 0),
    blocks: (plan['Shared Hit Blocks'] ?? 0) + (plan['Shared Read Blocks'] ?? 0),
    indexes: nodes
      .flatMap((node) => node['Index Name'] ?? [])
      .filter((i) => i.startsWith('history_')),
    isWholeTable: ofTable.some((node) => node['Node Type'] === 'Seq Scan'),
    found: plan['Actual Rows'],
  }
}

/** What reading a page costs: the sum of its statements. */
export async function costOf(
  db: Db,
  entries: number,
  query: Query,
  {
    after = null,
    objects = null,
  }: { after?: Place | null; objects?: readonly HistoryObject[] | null | undefined } = {},
): Promise<Read> {
  const span: Span = { first: timeOf(0), last: timeOf(entries - 1) }
  const statements = pageQueries(
    db,
    { per_page: rowsOfPage - 1, ...query },
    { after, objects, limit: rowsOfPage },
    span,
  )
  let sum: Read | undefined
  for (const statement of statements) {
    const one = await explained(db, statement.compile())
    sum = sum && {
      rows: sum.rows + one.rows,
      collected: sum.collected + one.collected,
      blocks: sum.blocks + one.blocks,
      indexes: [...sum.indexes, ...one.indexes],
      isWholeTable: sum.isWholeTable || one.isWholeTable,
      found: one.found,
    }
    sum ??= one
    if (one.found >= rowsOfPage) break
  }
  return sum!
}

/** A place in the middle of the entries. */
export const middleOf = (entries: number): Place => ({
  at: timeOf(entries / 2),
  id: entries / 2 + 1,
})

/** A page of each kind, by its name. */
export const pages: Readonly<Record<string, { query: Query; objects?: readonly HistoryObject[] }>> =
  {
    everything: { query: {} },
    'everything, oldest first': { query: { sort: 'at' } },
    'a server': { query: { object: serverOf(7) } },
    'a server, one kind': { query: { object: serverOf(7), kind: 'server_contact' } },
    'a cluster': { query: { cluster: clusterOf(7) } },
    'a cluster, one rare kind': { query: { cluster: clusterOf(7), kind: 'cluster_status' } },
    'a cluster without its servers': { query: { cluster: clusterOf(7), about: 'cluster' } },
    'a frequent kind': { query: { kind: 'server_contact' } },
    'a rare kind': { query: { kind: 'patch_changed' } },
    'servers only': { query: { about: 'server' } },
    'datacenters only': { query: { about: 'datacenter' } },
    'a person': { query: { by: 'ada@example.com' } },
    'Steelyard itself': { query: { by: 'Steelyard' } },
    'a reader who may not see servers': { query: {}, objects: ['cluster', 'datacenter'] },
  }

/** Searches, and how many entries match each. */
export const searches: Readonly<Record<string, { query: Query; matches: (n: number) => number }>> =
  {
    'a word of all entries': { query: { q: 'refused' }, matches: (n) => n },
    "a cluster's name": { query: { q: 'cluster-7' }, matches: (n) => n / oneIn.cluster },
    "a server's name": { query: { q: 'server-17' }, matches: (n) => n / oneIn.server },
    'a rare word': { query: { q: 'unusual' }, matches: (n) => n / oneIn.change },
    'a frequent word of long ago': { query: { q: 'former' }, matches: (n) => n / 12 },
    'a word that no entry has': { query: { q: 'absent' }, matches: () => 0 },
    'a word and a server': {
      query: { q: 'refused', object: serverOf(7) },
      matches: (n) => n / oneIn.server,
    },
    'a word and a person': {
      query: { q: 'refused', by: 'ada@example.com' },
      matches: (n) => (2 * n) / oneIn.person,
    },
  }
