import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { startBackend } from '../../testing/backend.ts'
import { inTransaction } from '../../db/db.ts'
import { page as read, type Place } from './store-pages.ts'
import {
  clusterOf,
  costOf,
  fill,
  middleOf,
  mostBlocks,
  mostRows,
  mostRowsOfSearch,
  pages,
  searches,
  timeOf,
} from './testing.ts'

const { db } = (await startBackend()).platform

/** More than a page reads in their order, also of those with the word "former". */
const entries = 150_000
await fill(db, entries)

test.each(Object.entries(pages))(
  'a page of %s is read by an index, however many entries there are',
  async (_of, { query, objects }) => {
    for (const after of [null, middleOf(entries)]) {
      const cost = await costOf(db, query, { after, objects })
      expect(cost.isWholeTable).toBe(false)
      expect(cost.rows).toBeLessThanOrEqual(mostRows)
      expect(cost.blocks).toBeLessThanOrEqual(mostBlocks)
    }
  },
)

test('a page of a time is read by an index, also of a kind and a server', async () => {
  const times = {
    since: timeOf(entries / 4).toISOString(),
    until: timeOf(entries / 2).toISOString(),
  }
  for (const { query } of [pages['everything']!, pages['a rare kind']!, pages['a server']!]) {
    const cost = await costOf(db, { ...query, ...times })
    expect(cost.isWholeTable).toBe(false)
    expect(cost.rows).toBeLessThanOrEqual(mostRows)
  }
})

test.each(Object.entries(searches))(
  'a search for %s reads no more than a page may, however many entries there are',
  async (_of, query) => {
    for (const after of [null, middleOf(entries)]) {
      const cost = await costOf(db, query, { after })
      expect(cost.isWholeTable).toBe(false)
      expect(cost.rows).toBeLessThanOrEqual(mostRowsOfSearch)
    }
  },
)

/** The numbers of all entries that match, page after page, and how many pages ended early. */
async function followed(query: Parameters<typeof read>[1]) {
  const ids: number[] = []
  let early = 0
  for (let after: Place | null = null; ;) {
    const { rows, readTo } = await inTransaction(db, (tx) =>
      read(tx, query, { after, objects: null, limit: 501 }),
    )
    const shown = rows.slice(0, 500)
    ids.push(...shown.map((row) => row.id))
    if (readTo !== null) early += 1
    const last = rows.length > 500 ? shown.at(-1)! : readTo
    if (last === null) return { ids, early }
    after = { at: last.at, id: last.id }
  }
}

test.each([
  // Found by the index of words, whenever they were written.
  [{ q: 'unusual' }, '-at', sql`message like '%unusual'`, false],
  [{ q: 'unusual' }, 'at', sql`message like '%unusual'`, false],
  [{ q: '10.0.4.91' }, 'at', sql`message like '%10.0.4.91'`, false],
  [{ q: 'unusual', cluster: clusterOf(3) }, '-at', sql`message like '%unusual'`, false],
  // So many have the word that they are looked for in the order of time.
  [{ q: 'former' }, '-at', sql`cluster_name = 'former'`, true],
  [{ kind: 'patch_changed', by: 'Steelyard' }, '-at', sql`kind = 'patch_changed'`, true],
  [{ q: 'refused', about: 'cluster' }, 'at', sql`object_kind = 'cluster'`, false],
  [
    { by: 'ada@example.com', about: 'server' },
    '-at',
    sql`actor_name = 'ada@example.com' or requested_by = 'ada@example.com'`,
    false,
  ],
] as const)(
  'the pages of %o, sorted by %s, have all that match, once',
  async (asked, sort, has, endsEarly) => {
    const { ids, early } = await followed({ ...asked, sort, per_page: 500 })
    const { rows } = await sql<{ id: number }>`select id from history where ${has}
      order by at ${sql.raw(sort === 'at' ? 'asc' : 'desc')}, id`.execute(db)
    expect(ids).toEqual(rows.map((row) => row.id))
    expect(early > 0).toBe(endsEarly)
  },
)
