import { readFileSync } from 'node:fs'
import path from 'node:path'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { startBackend } from './backend.ts'
import { bombs } from './bombs/bombs.ts'
import { storedWork } from './stored-work.ts'

const backend = await startBackend()
const rows = Object.entries(storedWork)

test('each table stands in the list of stored work, and no other does', async () => {
  const { rows: tables } = await sql<{ name: string }>`
    select tablename as name from pg_tables where schemaname = current_schema() and tablename not like '%migration%'`.execute(
    backend.platform.db,
  )
  expect(rows.map(([table]) => table).toSorted()).toEqual(tables.map(({ name }) => name).toSorted())
})

test('each kind of stored work has bounds, a cost and a place, and its named test exists', () => {
  const brokenRows = rows.flatMap(([table, row]): string[] => {
    if (typeof row === 'string') return row === '' ? [`${table} has no reason`] : []
    const { bound, cost, on, bomb } = row
    if (bound.length === 0 || bound.some((most) => most <= 0)) return [`${table} has no bound`]
    if (cost === '' || on.length === 0) return [`${table} has no cost or place`]
    if (typeof bomb === 'string') return bomb === '' ? [`${table} has no bomb and no reason`] : []
    const [file, title] = bomb
    const text = readFileSync(path.join(import.meta.dirname, '../../..', file), 'utf8')
    if (!text.includes(`test('${title}'`) && !text.includes(`)(\n  '${title}'`))
      return [`${table} names a test that ${file} lacks`]
    // That test has a case for each table of `bombs`.
    return title.startsWith('a full table of %s') && !(table in bombs)
      ? [`${table} has no bomb`]
      : []
  })
  expect(brokenRows).toEqual([])
})
