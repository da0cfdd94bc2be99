/**
 * Reads the content of a backup as records: a consistent snapshot of the database by COPY over an
 * ordinary connection, then the files. Needs no PostgreSQL tools and blocks no other connection: a
 * read-only transaction sees what was committed when it began (REPEATABLE READ).
 */
import type { Pool, PoolClient } from 'pg'
import { to as copyTo } from 'pg-copy-streams'
import { systemClock } from '../clock.ts'
import type { Config } from '../config.ts'
import { parseKeys } from '../vault/key-file.ts'
import { readFiles } from './files.ts'
import { dataRecords, type Manifest, partRecord } from './records.ts'
import { BackupRefused } from './sealed.ts'

export interface DumpCount {
  tables: number
  rows: number
  files: number
  /**
   * Number of clusters that have no escrow file in this data folder: a process with another data
   * folder created these clusters.
   */
  clustersWithoutEscrow: number
}

interface DumpParts {
  readonly client: PoolClient
  readonly config: Config
  readonly version: string
}

/**
 * Session settings: no timeouts, and a fixed text format of values, whatever the PostgreSQL
 * server's configuration.
 */
const session = `set local statement_timeout = 0; set local idle_in_transaction_session_timeout = 0; set local datestyle = iso;
  set local timezone = 'UTC'; set local intervalstyle = postgres; set local bytea_output = hex; set local extra_float_digits = 3`

/**
 * Leaves out the tables of PostgreSQL extensions: `create extension` creates them during a restore.
 */
const askTables = `select c.relname as name from pg_class c
  where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r' and c.relname <> 'migration'
    and not exists (select 1 from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')
  order by c.relname`
/** Generated columns are left out: PostgreSQL computes them again. */
const askColumns = `select a.attname as name from pg_attribute a
  where a.attrelid = quote_ident($1)::regclass and a.attnum > 0 and not a.attisdropped and a.attgenerated = '' order by a.attnum`
const askSequences = `select sequencename as name, last_value::text as last from pg_sequences where schemaname = current_schema() order by 1`

export const quote = (name: string): string => `"${name.replaceAll('"', '""')}"`

/**
 * Passes the records of a backup to `write`. `count` receives the numbers of tables, rows and files
 * that were read.
 * @throws BackupRefused if there is nothing to back up, or the key file or escrow files don't match
 * the database
 */
export async function dumping<T>(
  { pool, ...parts }: Omit<DumpParts, 'client'> & { readonly pool: Pool },
  count: DumpCount,
  write: (records: AsyncGenerator<Buffer>) => Promise<T>,
): Promise<T> {
  const client = await pool.connect()
  let isComplete = false
  async function* records() {
    yield* dump({ client, ...parts }, count)
    isComplete = true
  }
  try {
    return await write(records())
  } finally {
    // In the middle of a COPY a connection can't be used again, so it is closed.
    client.release(!isComplete)
  }
}

async function* dump(
  { client, config, version }: DumpParts,
  count: DumpCount,
): AsyncGenerator<Buffer> {
  const names = async () =>
    (await client.query<{ name: string }>(askTables)).rows.map((row) => row.name)
  const tables = await names()
  if (!tables.includes('installation'))
    throw new BackupRefused('The database is empty: there is nothing to back up')
  await client.query('begin isolation level repeatable read read only')
  await client.query(session)
  // Locks the tables before the snapshot is taken, as pg_dump does, so that no migration changes
  // a table while it is read.
  await client.query(`lock table migration, ${tables.map(quote).join(', ')} in access share mode`)
  const { rows: migrations } = await client.query<Manifest['migrations'][number]>(
    'select number, name, checksum from migration order by number',
  )
  if ((await names()).join() !== tables.join())
    throw new BackupRefused('The schema of the database was changed meanwhile: try again')
  const { rows: of } = await client.query<{ id: string }>('select id from installation')
  yield partRecord({
    part: 'manifest',
    madeAt: new Date(systemClock.now()).toISOString(),
    version,
    installation: of[0]!.id,
    migrations,
  })
  for (const name of tables) {
    yield* table(client, name, count)
    count.tables++
  }
  const { rows: sequences } = await client.query<{ name: string; last: string | null }>(
    askSequences,
  )
  for (const { name, last } of sequences)
    if (last !== null) yield partRecord({ part: 'sequence', name, last })
  yield* files(client, config, count)
  yield partRecord({
    part: 'closing',
    tables: count.tables,
    rows: count.rows,
    files: count.files,
  })
  // Not after a failure: in the middle of a COPY no answer would ever come.
  await client.query('rollback')
}

async function* table(client: PoolClient, name: string, count: DumpCount): AsyncGenerator<Buffer> {
  const columns = (await client.query<{ name: string }>(askColumns, [name])).rows.map(
    (row) => row.name,
  )
  yield partRecord({ part: 'table', name, columns })
  const stream = client.query(
    copyTo(`copy ${quote(name)} (${columns.map(quote).join(', ')}) to stdout`),
  )
  for await (const bytes of stream) yield* dataRecords(bytes as Buffer)
  yield partRecord({ part: 'end', count: stream.rowCount })
  count.rows += stream.rowCount
}

/**
 * Must run after the tables were read. A cluster's escrow file is written before its secrets are
 * used, so every cluster that was read has its file.
 */
async function* files(
  client: PoolClient,
  config: Config,
  count: DumpCount,
): AsyncGenerator<Buffer> {
  const escrowed = new Set<string>()
  for await (const { kind, name, bytes } of readFiles(config)) {
    if (kind === 'key') await demandKeys(client, bytes, config.keyFile)
    else escrowed.add(name)
    yield partRecord({ part: 'file', kind, name })
    yield* dataRecords(bytes)
    yield partRecord({ part: 'end', count: bytes.length })
    count.files++
  }
  const { rows } = await client.query<{ id: string }>(
    'select id from cluster where deleted_at is null and escrowed_at is not null',
  )
  count.clustersWithoutEscrow = rows.filter((row) => !escrowed.has(`${row.id}.bin`)).length
}

/**
 * Checks that the key file has every key that the database's secrets need. Otherwise a restore
 * would fail.
 */
async function demandKeys(client: PoolClient, bytes: Buffer, file: string): Promise<void> {
  const keys = parseKeys(bytes.toString('utf8'), file)
  const { rows } = await client.query<{ key: string }>(
    'select distinct wrapping_key as key from data_key',
  )
  const missing = rows.find((row) => !keys.get(row.key))
  if (missing)
    throw new BackupRefused(
      `${file} lacks the key ${missing.key}, which seals secrets of this database: set STEELYARD_KEY_FILE to the right one`,
    )
}
