/**
 * Forward-only migrations: numbered SQL files, each run in its own transaction, which also stores
 * the file's checksum. A database with a migration that this program doesn't have is newer than the
 * program, and is refused.
 */
import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { Pool, PoolClient } from 'pg'
import { Refusal } from '../refusal.ts'
import { statementMs } from './connection.ts'

const folder = fileURLToPath(new URL('./migrations/', import.meta.url))
/** Arbitrary number of the lock that lets only one process migrate at a time. */
export const migrationLock = 7_219_004_113
/** The oldest PostgreSQL version that is tested. */
const oldestServer = 150_000

export interface Migration {
  readonly number: number
  readonly name: string
  readonly sql: string
  readonly checksum: string
}

/** The reason why a database can't be migrated, as a message for the operator. */
export class MigrationRefused extends Refusal {
  override readonly name = 'MigrationRefused'

  constructor(message: string) {
    super(message, { lasts: true })
  }
}

/**
 * The migrations of this program, in order. Throws if two files have the same number or a number is
 * missing.
 */
export async function readMigrations(from = folder): Promise<Migration[]> {
  const files = (await readdir(from)).filter((file) => file.endsWith('.sql')).toSorted()
  const migrations = await Promise.all(
    files.map(async (file): Promise<Migration> => {
      const match = /^(\d{4})_([a-z0-9-]+)\.sql$/.exec(file)
      if (!match) throw new MigrationRefused(`${file} is not named like 0001_what-it-does.sql`)
      const sql = await readFile(
        new URL(file, `file://${from.endsWith('/') ? from : `${from}/`}`),
        'utf8',
      )
      return {
        number: Number(match[1]),
        name: match[2]!,
        sql,
        checksum: createHash('sha256').update(sql).digest('hex'),
      }
    }),
  )
  migrations.forEach((m, i) => {
    if (m.number !== i + 1)
      throw new MigrationRefused(
        `Migration ${m.number} (${m.name}) is in the place of number ${i + 1}`,
      )
  })
  return migrations
}

/**
 * Migrates the database to the newest schema; returns the numbers of the migrations that were run
 * now.
 * @throws MigrationRefused if the database is newer than this program, an applied file has changed
 * since, or PostgreSQL is too old
 */
export async function migrate(pool: Pool, migrations: readonly Migration[]): Promise<number[]> {
  const client = await pool.connect()
  try {
    const { rows } = await client.query<{ server_version_num: string }>('show server_version_num')
    if (Number(rows[0]!.server_version_num) < oldestServer)
      throw new MigrationRefused('Steelyard needs PostgreSQL 15 or newer')
    await client.query('set statement_timeout = 0')
    await client.query('select pg_advisory_lock($1)', [migrationLock])
    try {
      return await runMissing(client, migrations)
    } finally {
      await client.query('select pg_advisory_unlock($1)', [migrationLock])
      await client.query(`set statement_timeout = ${statementMs}`)
    }
  } finally {
    client.release()
  }
}

/** Creates the table of applied migrations. */
export const makeMigrationTable = (client: PoolClient) =>
  client.query(`create table if not exists migration (
    number integer primary key, name text not null, checksum text not null, run_at timestamptz(3) not null default now())`)

/** Runs a migration in the caller's transaction. */
export async function runMigration(
  client: PoolClient,
  { number, name, sql, checksum }: Migration,
): Promise<void> {
  await client.query(sql)
  await client.query('insert into migration (number, name, checksum) values ($1, $2, $3)', [
    number,
    name,
    checksum,
  ])
}

type Applied = Pick<Migration, 'number' | 'name' | 'checksum'>
const selectApplied = 'select number, name, checksum from migration order by number'

/** @throws MigrationRefused if the database is newer than this program, or an applied file changed */
function missingAfter(done: readonly Applied[], migrations: readonly Migration[]): Migration[] {
  for (const row of done) {
    const known = migrations.find((m) => m.number === row.number)
    if (!known)
      throw new MigrationRefused(
        `The database has schema ${row.number} (${row.name}), but this program knows only schemas up to ${migrations.length}: start a newer Steelyard, or restore a backup of the older schema`,
      )
    if (known.checksum !== row.checksum)
      throw new MigrationRefused(
        `Migration ${row.number} (${row.name}) differs from the one that created this database`,
      )
  }
  return migrations.filter((m) => m.number > done.length)
}

/**
 * For commands beside a Steelyard that may be older, and doesn't know a newer schema.
 * @throws MigrationRefused unless the database has the schema of this program
 */
export async function demandMigrated(pool: Pool, migrations: readonly Migration[]): Promise<void> {
  const { rows: found } = await pool.query(`select 1 where to_regclass('migration') is not null`)
  const done = found.length === 0 ? [] : (await pool.query<Applied>(selectApplied)).rows
  if (missingAfter(done, migrations).length > 0)
    throw new MigrationRefused(
      `The database has schema ${done.length}, and this version of Steelyard needs ${migrations.length}: start it once, which migrates the database`,
    )
}

async function runMissing(client: PoolClient, migrations: readonly Migration[]): Promise<number[]> {
  await makeMigrationTable(client)
  const { rows: done } = await client.query<Applied>(selectApplied)
  const missing = missingAfter(done, migrations)
  for (const m of missing) {
    await client.query('begin')
    try {
      await runMigration(client, m)
      await client.query('commit')
    } catch (error) {
      await client.query('rollback')
      throw error
    }
  }
  return missing.map((m) => m.number)
}
