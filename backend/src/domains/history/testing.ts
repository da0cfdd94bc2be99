/** A history of any length, and what reading its pages costs PostgreSQL. */
import { type CompiledQuery, type KyselyPlugin, sql } from 'kysely'
import type { Input } from '#contract/operation.ts'
import type { historyList } from '#contract/history/history.ts'
import type { HistoryObject } from '#contract/history/kind-names.ts'
import { type Db, inTransaction, type Tx } from '../../db/db.ts'
import { mostFound, mostInOrder, page, type Place } from './store-pages.ts'

type Query = Partial<Input<typeof historyList>['query']>

/** How many of the entries are about the same server or cluster, or are what the name says. */
const oneIn = { server: 40, cluster: 10, person: 200, change: 5_000, datacenter: 20_000 }
const secondsBetween = 6
const began = Date.UTC(2025, 0, 1)
const idOf = (of: '8' | '9', n: number): string =>
  `00000000-0000-4000-${of}000-${String(n).padStart(12, '0')}`
const serverOf = (n: number): string => idOf('8', n)
export const clusterOf = (n: number): string => idOf('9', n)
export const timeOf = (n: number): Date => new Date(began + n * secondsBetween * 1_000)
/** A page has 51 rows with the one that says whether there is another. */
const rowsOfPage = 51
/** Rows that a page may read of a history of any length: as keys, by two indexes, and as entries. */
export const mostRows = 3 * rowsOfPage
/** Blocks that such a page may read: the levels of the indexes for each row, and its own. */
export const mostBlocks = 10 * mostRows
/**
 * Rows that a page may read of a history of any length if something leaves entries out: those of two
 * indexes, each once more to find where it ended, and those with rare words, first to find them and
 * then to compare them.
 */
export const mostRowsOfSearch = 4 * mostInOrder + 2 * mostFound + 1 + rowsOfPage

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
interface Explanation {
  /** Rows of the table, also those that didn't match. */
  readonly rows: number
  /** Entries of indexes that were collected before their rows were read. */
  readonly collected: number
  /** Blocks of 8 KiB, in memory or not. */
  readonly blocks: number
  readonly indexes: readonly string[]
  readonly isWholeTable: boolean
}

interface Read extends Explanation {
  readonly found: number
  /** Where the page ended before it was full. */
  readonly readTo: Place | null
}

const literal = (value: unknown): string => {
  if (typeof value === 'number') return String(value)
  if (Array.isArray(value)) return `array[${value.map(literal).join(', ')}]`
  return `'${(value instanceof Date ? value.toISOString() : String(value)).replaceAll("'", "''")}'`
}

async function explained(on: Tx, { sql: text, parameters }: CompiledQuery): Promise<Explanation> {
  const { rows } = await sql<{
    'QUERY PLAN': [{ Plan: Node }]
  }>`explain (analyze, buffers, format json) ${sql.raw(
    text.replaceAll(/\$(\d+)/g, (_all, n: string) => literal(parameters[Number(n) - 1])),
  )}`.execute(on)
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
  }
}

/** What reading a page costs: the sum of its statements. */
export async function costOf(
  db: Db,
  query: Query,
  {
    after = null,
    objects = null,
  }: { after?: Place | null; objects?: readonly HistoryObject[] | null | undefined } = {},
): Promise<Read> {
  const statements: CompiledQuery[] = []
  const recorder: KyselyPlugin = {
    transformQuery({ node, queryId }) {
      statements.push(db.getExecutor().compileQuery(node, queryId))
      return node
    },
    transformResult: ({ result }) => Promise.resolve(result),
  }
  const { rows, readTo } = await inTransaction(db, (tx) =>
    page(
      tx.withPlugin(recorder),
      { per_page: rowsOfPage - 1, ...query },
      { after, objects, limit: rowsOfPage },
    ),
  )
  // Again in the same order, because settings in between change the plans of those after them.
  const reads = await inTransaction(db, async (tx) => {
    const explanations: Explanation[] = []
    for (const statement of statements)
      if (/set_config|set transaction/.test(statement.sql)) await tx.executeQuery(statement)
      else explanations.push(await explained(tx, statement))
    return explanations
  })
  const sum = (of: (read: Explanation) => number): number =>
    reads.reduce((total, read) => total + of(read), 0)
  return {
    rows: sum((read) => read.rows),
    collected: sum((read) => read.collected),
    blocks: sum((read) => read.blocks),
    indexes: reads.flatMap((read) => read.indexes),
    isWholeTable: reads.some((read) => read.isWholeTable),
    found: rows.length,
    readTo,
  }
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

/** Searches, and filters that no index answers together. */
export const searches: Readonly<Record<string, Query>> = {
  'a word of all entries': { q: 'refused' },
  "a cluster's name": { q: 'cluster-7' },
  "a server's name": { q: 'server-17' },
  'a rare word': { q: 'unusual' },
  'a frequent word of long ago': { q: 'former' },
  'a word that no entry has': { q: 'absent' },
  'a word and a server': { q: 'refused', object: serverOf(7) },
  'a word and a person': { q: 'refused', by: 'ada@example.com' },
  'a frequent word of long ago and a person': { q: 'former', by: 'ada@example.com' },
  'a kind and a person': { kind: 'patch_changed', by: 'ada@example.com' },
  'what no entry is': { about: 'datacenter', by: 'ada@example.com' },
}
