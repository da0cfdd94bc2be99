import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { longTests } from '../../../../tools/testing/length.ts'
import { startBackend } from '../../testing/backend.ts'
import { type Place, pageQuery } from './store.ts'

const { db } = (await startBackend()).platform

/** Entries as `npm run test:all` and as `npm test` insert them. */
const entries = longTests ? 10_000_000 : 100_000
/** Entries between two that are about the same server, and that were made by the same person. */
const [servers, people] = [1_000, 5_000]

const idOf = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`

/**
 * Inserts in portions, because a statement has a time limit. The triggers of the table see only
 * updates.
 */
const fill = async (): Promise<void> => {
  const portion = 50_000
  for (let from = 0; from < entries; from += portion)
    await sql`insert into history (at, kind, object_kind, object_id, object_name, cluster_id, cluster_name, actor_kind, actor_name, requested_by, message, before, after)
      select timestamptz '2026-01-01' + n * interval '6 seconds', case n % 3 when 0 then 'server_stage' when 1 then 'server_contact' else 'patch_added' end,
        'server', ('00000000-0000-4000-8000-' || lpad((n % ${servers})::text, 12, '0'))::uuid, 'server-' || n % ${servers},
        ('00000000-0000-4000-9000-' || lpad((n % 50)::text, 12, '0'))::uuid, 'cluster-' || n % 50, 'steelyard',
        case when n % ${people} = 0 then 'ada@example.com' else 'Steelyard' end,
        case when n % ${people} = 1 then 'ada@example.com' end,
        'No answer: connection refused' || case when n % ${people} = 7 then ' unusual' || n else '' end, '{}', '{"reachable": false}'
      from generate_series(${from}::int, ${from + portion - 1}::int) as n`.execute(db)
  await sql`analyze history`.execute(db)
}
await fill()

interface Node {
  'Node Type': string
  'Index Name'?: string
  'Relation Name'?: string
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  Plans?: Node[]
}
const nodesOf = (node: Node): Node[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)]

/** The rows of the history that reading a page touches, and the indexes that find them. */
const planOf = async (
  query: Partial<Parameters<typeof pageQuery>[1]>,
  after: Place | null = null,
) => {
  const compiled = pageQuery(
    db,
    { per_page: 50, ...query },
    { after, objects: null, limit: 51 },
  ).compile()
  const { rows } = await sql<{
    'QUERY PLAN': [{ Plan: Node }]
  }>`explain (analyze, format json) ${sql.raw(
    compiled.sql.replaceAll(/\$(\d+)/g, (_all, n: string) => {
      const value = compiled.parameters[Number(n) - 1]
      if (typeof value === 'number') return String(value)
      const text = value instanceof Date ? value.toISOString() : String(value)
      return `'${text.replaceAll("'", "''")}'`
    }),
  )}`.execute(db)
  const nodes = nodesOf(rows[0]!['QUERY PLAN'][0].Plan)
  const ofHistory = nodes.filter((n) => n['Index Name']?.startsWith('history_'))
  return {
    // The table of operations is empty here, so PostgreSQL reads it whole.
    scans: nodes.filter((n) => n['Node Type'] === 'Seq Scan' && n['Relation Name'] === 'history'),
    indexes: ofHistory.map((n) => n['Index Name']),
    rows: Math.max(
      ...nodes.map(
        (n) => (n['Actual Rows'] + (n['Rows Removed by Filter'] ?? 0)) * n['Actual Loops'],
      ),
    ),
  }
}

const middle: Place = {
  at: new Date(Date.UTC(2026, 0, 1) + (entries / 2) * 6_000),
  id: entries / 2,
}
/** A page has 51 rows with the one that says whether there is another. */
const page = 51

test.each([
  ['everything', {}, 'history_at', page],
  ['a server', { object: idOf(7) }, 'history_object', page],
  ['a cluster', { cluster: '00000000-0000-4000-9000-000000000007' }, 'history_cluster', page],
  ['a kind', { kind: 'server_contact' as const }, 'history_', 3 * page],
  ['a time', { since: '2026-01-02T00:00:00Z', until: '2026-01-03T00:00:00Z' }, 'history_at', page],
])(
  'a page of %s is read by an index, however many entries there are',
  async (_of, query, index, most) => {
    for (const after of 'since' in query ? [null] : [null, middle]) {
      const plan = await planOf(query, after)
      expect(plan.scans).toHaveLength(0)
      expect(plan.indexes[0]).toContain(index)
      expect(plan.rows).toBeLessThanOrEqual(most)
    }
  },
)

test('changes by a person and rare words are found by an index', async () => {
  for (const query of [
    { by: 'ada@example.com' },
    { q: 'unusual7' },
    { q: `unusual${people + 7}` },
  ]) {
    const plan = await planOf(query)
    expect(plan.scans).toHaveLength(0)
    // Each person and each rare word has few entries, and only these are read.
    expect(plan.rows).toBeLessThanOrEqual((2 * entries) / people + page)
  }
})
