/**
 * Databases of tests, cloned from the migrated template. A process gives the database of an ended
 * test to a later one, because PostgreSQL copies some 640 files for a new one, which takes ten times
 * the processor time of emptying its tables.
 */
import { randomBytes } from 'node:crypto'
import { Client } from 'pg'
import { inject } from 'vitest'
import type { Connection } from '../db/connection.ts'
import { whenOver } from './ending.ts'
import { catalogState } from './pristine.ts'

/** Names of the databases whose tests have ended. */
const ended: string[] = []

async function on<T>(connection: Connection, act: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client(connection)
  await client.connect()
  try {
    return await act(client)
  } finally {
    await client.end()
  }
}

/** Whether nobody else is connected. PostgreSQL's process ends after its client's connection. */
async function isAlone(client: Client): Promise<boolean> {
  for (let tries = 0; tries < 50; tries++) {
    const { rowCount } = await client.query(
      `select pg_sleep(0.02) from pg_stat_activity where datname = current_database()
        and pid <> pg_backend_pid() and backend_type = 'client backend' limit 1`,
    )
    if (!rowCount) return true
  }
  return false
}

/**
 * Gives the database of an ended test the rows of the template. False if it can't be reused: the
 * test has changed more than rows, something is still connected, or the account isn't allowed to
 * write past the triggers.
 */
const renew = (database: string): Promise<boolean> => {
  const { connection, pristine } = inject('postgres')
  return on({ ...connection, database }, async (client) => {
    const { rows } = await client.query<{ same: boolean }>(
      `select current_setting('is_superuser') = 'on' and (${catalogState}) = $1 as same`,
      [pristine.catalog],
    )
    if (!rows[0]!.same || !(await isAlone(client))) return false
    await client.query(pristine.renew)
    return true
  })
}

/** A database with the content of the migrated template, or an empty one, for the running test. */
export async function freshDatabase({ empty = false } = {}): Promise<Connection> {
  const { connection, template } = inject('postgres')
  for (let name = empty ? undefined : ended.pop(); name !== undefined; name = ended.pop())
    if (await renew(name)) {
      const database = name
      whenOver(() => void ended.push(database))
      return { ...connection, database }
    }
  const database = `steelyard_test_${randomBytes(6).toString('hex')}`
  // Copies files instead of writing them to the log (CREATE DATABASE, STRATEGY), which takes half
  // the time.
  await on(connection, (client) =>
    client.query(
      `create database ${database} template ${empty ? 'template0' : template} strategy file_copy`,
    ),
  )
  if (!empty) whenOver(() => void ended.push(database))
  return { ...connection, database }
}
