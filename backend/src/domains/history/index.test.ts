import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { startBackend } from '../../testing/backend.ts'
import { page as read } from './store-pages.ts'
import {
  costOf,
  fill,
  middleOf,
  mostRows,
  mostRowsOfSearch,
  pages,
  searches,
  timeOf,
} from './testing.ts'

const { db } = (await startBackend()).platform

const entries = 100_000
await fill(db, entries)

test.each(Object.entries(pages))(
  'a page of %s is read by an index, however many entries there are',
  async (_of, { query, objects }) => {
    for (const after of [null, middleOf(entries)]) {
      const cost = await costOf(db, entries, query, { after, objects })
      expect(cost.isWholeTable).toBe(false)
      expect(cost.rows).toBeLessThanOrEqual(mostRows)
    }
  },
)

test('a page of a time is read by an index, also of a kind and a server', async () => {
  const times = {
    since: timeOf(entries / 4).toISOString(),
    until: timeOf(entries / 2).toISOString(),
  }
  for (const { query } of [pages['everything']!, pages['a rare kind']!, pages['a server']!]) {
    const cost = await costOf(db, entries, { ...query, ...times })
    expect(cost.isWholeTable).toBe(false)
    expect(cost.rows).toBeLessThanOrEqual(mostRows)
  }
})

test.each(Object.entries(searches))(
  'a search for %s reads no more than what matches, or a small part',
  async (_of, { query, matches }) => {
    for (const after of [null, middleOf(entries)]) {
      const cost = await costOf(db, entries, query, { after })
      expect(cost.isWholeTable).toBe(false)
      expect(cost.rows).toBeLessThanOrEqual(mostRowsOfSearch(entries, matches(entries)))
    }
  },
)

test.each([
  ['unusual', '-at', sql`message like '%unusual'`],
  ['unusual', 'at', sql`message like '%unusual'`],
  ['former', '-at', sql`cluster_name = 'former'`],
  ['10.0.4.91', 'at', sql`message like '%10.0.4.91'`],
] as const)('a search in parts finds all with the word %s, sorted by %s', async (q, sort, has) => {
  const limit = 51
  const found = await read(db, { q, sort, per_page: 50 }, { after: null, objects: null, limit })
  const { rows } = await sql<{ id: number }>`select id from history where ${has}
    order by at ${sql.raw(sort === 'at' ? 'asc' : 'desc')} limit ${limit}`.execute(db)
  expect(found.map((row) => row.id)).toEqual(rows.map((row) => row.id))
})
