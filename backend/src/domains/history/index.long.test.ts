/** A page of a history of 10 million entries. Prints what filling and reading it takes. */
import { sql } from 'kysely'
import { beforeAll, expect, test } from 'vitest'
import { startBackend } from '../../testing/backend.ts'
import {
  costOf,
  fill,
  middleOf,
  mostBlocks,
  mostRows,
  mostRowsOfSearch,
  pages,
  searches,
} from './testing.ts'

const { db } = (await startBackend()).platform
const entries = 10_000_000

beforeAll(async () => {
  const began = performance.now()
  await fill(db, entries)
  const { rows } = await sql<{ table: string; all: string }>`
    select pg_size_pretty(pg_table_size('history')) as table, pg_size_pretty(pg_total_relation_size('history')) as all`.execute(
    db,
  )
  process.stdout.write(
    `${entries} entries inserted in ${Math.round((performance.now() - began) / 1000)} s; table ${rows[0]!.table}, with indexes ${rows[0]!.all}\n`,
  )
}, 3_600_000)

const cases = [
  ...Object.entries(pages).map(
    ([name, page]) => [`page of ${name}`, page, { rows: mostRows, blocks: mostBlocks }] as const,
  ),
  ...Object.entries(searches).map(
    ([name, query]) =>
      [
        `search for ${name}`,
        { query, objects: undefined },
        // A row at most in a block of its own, with its entry of an index.
        { rows: mostRowsOfSearch, blocks: 2 * mostRowsOfSearch },
      ] as const,
  ),
]

test.each(cases)(
  'the %s reads few of 10 million entries',
  { timeout: 600_000 },
  async (name, { query, objects }, most) => {
    for (const [place, after] of [
      ['first', null],
      ['middle', middleOf(entries)],
    ] as const) {
      const began = performance.now()
      const { rows, found, readTo, collected, blocks, indexes, isWholeTable } = await costOf(
        db,
        query,
        { after, objects },
      )
      process.stdout.write(
        `${name}, ${place}: ${found} found${readTo ? `, read to ${readTo.at.toISOString()}` : ''}; ${rows} rows, ${collected} collected, ${blocks} blocks, ${Math.round(performance.now() - began)} ms twice, ${indexes.join(' ')}\n`,
      )
      expect(isWholeTable).toBe(false)
      expect(rows).toBeLessThanOrEqual(most.rows)
      expect(blocks).toBeLessThanOrEqual(most.blocks)
    }
  },
)
