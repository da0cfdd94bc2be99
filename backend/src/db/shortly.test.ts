import { sql } from 'kysely'
import { beforeEach, expect, test } from 'vitest'
import { startBackend } from '../testing/backend.ts'
import { type Db, inTransaction, type Tx } from './db.ts'
import { shortly } from './shortly.ts'

const { db } = (await startBackend()).platform
await sql`create table counted (id integer primary key, n integer not null)`.execute(db)

beforeEach(async () => {
  await sql`delete from counted`.execute(db)
  await sql`insert into counted (id, n) values (1, 0)`.execute(db)
})

const bump = (on: Db | Tx) => sql`update counted set n = n + 1 where id = 1`.execute(on)
const counted = async (): Promise<number> =>
  (await sql<{ n: number }>`select n from counted`.execute(db)).rows[0]!.n

/** Work that ends when the test says so. */
const slow = () => {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  let asked = 0
  return {
    work: () => {
      asked++
      return promise
    },
    end: resolve,
    fail: reject,
    asked: () => asked,
  }
}

test('a transaction keeps no row locked while its work takes long, and changes the row once', async () => {
  const { work, end, asked } = slow()
  let begun = 0
  const changed = inTransaction(db, async (tx) => {
    begun++
    await bump(tx)
    return shortly(tx, 'a question', work)
  })
  await expect.poll(asked).toBe(1)
  await bump(db)
  expect(begun).toBe(1)
  end('the answer')
  expect(await changed).toBe('the answer')
  expect({ begun, asked: asked(), counted: await counted() }).toEqual({
    begun: 2,
    asked: 1,
    counted: 2,
  })
})

test('a transaction begins once if its work is short', async () => {
  let begun = 0
  const answer = await inTransaction(db, (tx) => {
    begun++
    return shortly(tx, 'a question', () => Promise.resolve('the answer'))
  })
  expect([answer, begun]).toEqual(['the answer', 1])
})

test('each question is asked once, and equal questions of one transaction get one answer', async () => {
  const [one, other] = [slow(), slow()]
  const changed = inTransaction(db, async (tx) => [
    await shortly(tx, ['read', { of: 'one' }], one.work),
    await shortly(tx, ['read', { of: 'other' }], other.work),
    await shortly(tx, ['read', { of: 'one' }], one.work),
  ])
  await expect.poll(one.asked).toBe(1)
  one.end('1')
  await expect.poll(other.asked).toBe(1)
  await bump(db)
  other.end('2')
  expect(await changed).toEqual(['1', '2', '1'])
  expect([one.asked(), other.asked()]).toEqual([1, 1])
})

test('work that fails after a long time fails the transaction with its error', async () => {
  const { work, fail, asked } = slow()
  const changed = inTransaction(db, async (tx) => {
    await bump(tx)
    return shortly(tx, 'a question', work)
  }).catch((error: unknown) => error)
  await expect.poll(asked).toBe(1)
  await bump(db)
  const error = new Error('no answer')
  fail(error)
  expect(await changed).toBe(error)
  expect(await counted()).toBe(1)
})

test('a change that catches the error of long work is not stored without its answer', async () => {
  const { work, end, asked } = slow()
  const changed = inTransaction(db, async (tx) => {
    await bump(tx)
    return shortly(tx, 'a question', work).catch(() => 'none')
  })
  await expect.poll(asked).toBe(1)
  await bump(db)
  end('the answer')
  expect(await changed).toBe('the answer')
  expect(await counted()).toBe(2)
})

test('a transaction whose every question is a new one ends', async () => {
  const works: ReturnType<typeof slow>[] = []
  const changed = inTransaction(db, async (tx) => {
    await bump(tx)
    const work = slow()
    works.push(work)
    return shortly(tx, works.length, work.work)
  })
  for (let begun = 1; begun <= 10; begun++) {
    await expect.poll(() => works.length).toBe(begun)
    // Waits until the transaction is rolled back.
    await bump(db)
    works.at(-1)!.end('an earlier answer')
  }
  await expect.poll(() => works.length).toBe(11)
  works.at(-1)!.end('the answer')
  expect(await changed).toBe('the answer')
  expect(await counted()).toBe(11)
})

test('work outside of a transaction is awaited however long it takes', async () => {
  const { work, end, asked } = slow()
  const answer = shortly(db, 'a question', work)
  expect(asked()).toBe(1)
  end('the answer')
  expect(await answer).toBe('the answer')
})
