/** A page of a history of 10 million entries. Prints what filling and reading it takes. */
import { sql } from 'kysely'
import { beforeAll, expect, test } from 'vitest'
import { startBackend } from '../../testing/backend.ts'
import { costOf, fill, middleOf, mostRows, mostRowsOfSearch, pages, searches } from './testing.ts'

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
  ...Object.entries(pages).map(([name, page]) => [`page of ${name}`, page, mostRows] as const),
  ...Object.entries(searches).map(
    ([name, search]) =>
      [
        `search for ${name}`,
        { query: search.query, objects: undefined },
        mostRowsOfSearch(entries, search.matches(entries)),
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
      const { rows, collected, blocks, indexes, isWholeTable } = await costOf(db, entries, query, {
        after,
        objects,
      })
      process.stdout.write(
        `${name}, ${place}: ${rows} rows, ${collected} collected, ${blocks} blocks, ${Math.round(performance.now() - began)} ms, ${indexes.join(' ')}\n`,
      )
      expect(isWholeTable).toBe(false)
      expect(rows).toBeLessThanOrEqual(most)
    }
  },
)
