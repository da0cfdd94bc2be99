import { Client } from 'pg'
import { afterAll, expect, inject, test } from 'vitest'
import type { Connection } from '../db/connection.ts'
import { startBackend } from './backend.ts'
import { freshDatabase } from './databases.ts'
import { pristineOf } from './pristine.ts'

let last: Connection
let open: Client | undefined
afterAll(() => open?.end())

const connected = async (connection: Connection) => {
  const client = new Client(connection)
  await client.connect()
  return client
}
const sent = async (connection: Connection, text: string) => {
  const client = await connected(connection)
  await client.query(text)
  await client.end()
}

/** PostgreSQL's process of a connection ends after the connection, on a busy machine much later. */
const untilLeft = async ({ database }: Connection) => {
  const client = await connected(inject('postgres').connection)
  await expect
    .poll(async () => {
      const { rows } = await client.query<{ pid: number }>(
        `select pid from pg_stat_activity where datname = $1 and backend_type = 'client backend'`,
        [database],
      )
      return rows
    })
    .toEqual([])
  await client.end()
}

test('a test writes to its database', async () => {
  const backend = await startBackend()
  last = backend.database.connection
  await backend.signIn()
  await backend.publish()
  await sent(last, 'delete from publication; update installation set id = gen_random_uuid()')
  const client = await connected(last)
  expect(await pristineOf(client)).not.toEqual(inject('postgres').pristine)
  await client.end()
})

test('the next test gets that database with the rows and sequences of a new one', async () => {
  await untilLeft(last)
  const connection = await freshDatabase()
  expect(connection.database).toBe(last.database)
  const client = await connected(connection)
  expect(await pristineOf(client)).toEqual(inject('postgres').pristine)
  await client.end()
})

test('a test changes a table of that database', async () => {
  await untilLeft(last)
  const connection = await freshDatabase()
  expect(connection.database).toBe(last.database)
  await sent(connection, 'alter table person add column added text')
})

test('the next test gets another database, and leaves a connection open', async () => {
  const connection = await freshDatabase()
  expect(connection.database).not.toBe(last.database)
  last = connection
  open = await connected(connection)
})

test('a database is not given to another test while something is connected to it', async () => {
  expect((await freshDatabase()).database).not.toBe(last.database)
})
