import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { causeOf, isDatabaseAway } from '../causes/causes.ts'
import { startBackend } from '../testing/backend.ts'
import { freshDatabase } from '../testing/databases.ts'
import { connect, inTransaction, likePattern, sqlState } from './db.ts'

const backend = await startBackend()
const { db } = backend.platform

test("an int8 value is read as a number, or causes an error if a number can't represent it exactly", async () => {
  const read = async (text: string) =>
    (await sql<{ n: number }>`select ${sql.raw(text)}::int8 as n`.execute(db)).rows[0]!.n
  expect(await read('9007199254740991')).toBe(Number.MAX_SAFE_INTEGER)
  await expect(read('9007199254740993')).rejects.toThrow(RangeError)
})

test('a numeric value is read as a string, so that money is never a float', async () => {
  expect((await sql<{ n: string }>`select 0.10::numeric as n`.execute(db)).rows[0]!.n).toBe('0.10')
})

test('a search text matches literally, without wildcards', async () => {
  for (const text of ['%', '_', '\\', "'", 'a%b']) {
    const { rows } = await sql<{
      same: boolean
      other: boolean
    }>`select ${`x${text}y`} like ${likePattern(text)} as same, ${'xzzy'} like ${likePattern(text)} as other`.execute(
      db,
    )
    expect(rows[0]).toEqual({ same: true, other: false })
  }
})

test('two transactions that lock rows in opposite order both succeed, because a deadlock is retried', async () => {
  await sql`create table pair (id integer primary key, n integer not null default 0)`.execute(db)
  await sql`insert into pair (id) values (1), (2)`.execute(db)
  let locked = 0
  const bothHoldOne = Promise.withResolvers<void>()
  const bump = (first: number, second: number) =>
    inTransaction(db, async (tx) => {
      await sql`update pair set n = n + 1 where id = ${first}`.execute(tx)
      if (++locked === 2) bothHoldOne.resolve()
      await bothHoldOne.promise
      await sql`update pair set n = n + 1 where id = ${second}`.execute(tx)
    })
  await Promise.all([bump(1, 2), bump(2, 1)])
  expect((await sql<{ n: number }>`select sum(n)::int as n from pair`.execute(db)).rows).toEqual([
    { n: 4 },
  ])
})

test('an error that the database returns is distinguished from an unreachable database', async () => {
  const refused = await sql`select * from nowhere`.execute(db).catch((error: unknown) => error)
  expect([sqlState(refused), isDatabaseAway(refused)]).toEqual(['42P01', false])
  const away = connect({ connection: { host: '/nonexistent', user: 'x', database: 'x' } })
  const gone = await sql`select 1`.execute(away.db).catch((error: unknown) => error)
  expect(isDatabaseAway(gone)).toBe(true)
  await away.close()
})

test('a pool timeout is distinguished from an unreachable database', async () => {
  const connection = await freshDatabase()
  const small = connect({ connection, poolSize: 1 })
  const held = await small.pool.connect()
  small.pool.options.connectionTimeoutMillis = 50
  const refused = await sql`select 1`.execute(small.db).catch((error: unknown) => error)
  held.release()
  await small.close()
  expect(causeOf(refused)).toBe('database_silent')
})
