/**
 * Loads a backup into an empty database in one transaction: creates the backup's schema, inserts
 * the rows, runs the later migrations, and holds all clusters (`settle.ts`). No change is visible
 * before the commit, and after a failure the database is empty again.
 */
import { once } from 'node:events'
import { finished } from 'node:stream/promises'
import type { PoolClient } from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { makeMigrationTable, type Migration, migrationLock, runMigration } from '../db/migrate.ts'
import { quote } from './dump.ts'
import type { SavedFile } from './files.ts'
import type { Manifest, Part, TablePart } from './records.ts'
import { BackupRefused } from './sealed.ts'

export type Contents = Awaited<ReturnType<typeof visit>>

/** Callbacks for each kind of part; without callbacks the parts are only read. */
interface Visitor {
  begin?(manifest: Manifest): Promise<void>
  /** Receives the bytes of a table and returns the number of inserted rows. */
  table?(part: TablePart, rows: AsyncIterable<Buffer>): Promise<number>
  sequence?(name: string, last: string): Promise<void>
}

const damaged = (what: string) => new BackupRefused(`The parts of the backup do not match: ${what}`)
const newline = 0x0a

/** Reads all records. @throws BackupRefused if a record is missing or out of order */
export async function visit(records: AsyncGenerator<Part | Buffer>, visitor: Visitor = {}) {
  const next = async (): Promise<Part | Buffer | undefined> => {
    const { value, done } = await records.next()
    return done ? undefined : value
  }
  const first = await next()
  if (first === undefined || Buffer.isBuffer(first) || first.part !== 'manifest')
    throw damaged('the manifest is missing')
  await visitor.begin?.(first)
  const files: SavedFile[] = []
  let tables = 0
  let rows = 0
  /**
   * Yields the bytes of a part. The `end` record after them sets `expected`, their number of rows
   * or bytes.
   */
  let expected = 0
  async function* bytes(): AsyncGenerator<Buffer> {
    for (;;) {
      const record = await next()
      if (Buffer.isBuffer(record)) {
        yield record
        continue
      }
      if (record?.part !== 'end') throw damaged('a part has no end')
      expected = record.count
      return
    }
  }
  for (;;) {
    const record = await next()
    if (record === undefined || Buffer.isBuffer(record))
      throw damaged('the closing record is missing')
    if (record.part === 'table') {
      const put = visitor.table ? await visitor.table(record, bytes()) : await countLines(bytes())
      if (put !== expected)
        throw damaged(`the table ${record.name} has ${put} rows instead of ${expected}`)
      tables++
      rows += put
    } else if (record.part === 'file') {
      const content = Buffer.concat(await Array.fromAsync(bytes()))
      if (content.length !== expected)
        throw damaged(`the file ${record.name} has ${content.length} bytes instead of ${expected}`)
      files.push({ kind: record.kind, name: record.name, bytes: content })
    } else if (record.part === 'sequence') await visitor.sequence?.(record.name, record.last)
    else if (record.part === 'closing') {
      if (record.tables !== tables || record.rows !== rows || record.files !== files.length)
        throw damaged('the counts of tables, rows and files differ')
      if ((await next()) !== undefined) throw damaged('data follows the closing record')
      return { manifest: first, tables, rows, files }
    } else throw damaged('a part is in an unexpected place')
  }
}

async function countLines(source: AsyncIterable<Buffer>): Promise<number> {
  let lines = 0
  for await (const bytes of source)
    for (let at = bytes.indexOf(newline); at >= 0; at = bytes.indexOf(newline, at + 1)) lines++
  return lines
}

/** @throws BackupRefused if the backup is from a newer Steelyard, or has an unknown schema */
export function demandKnownSchema(manifest: Manifest, known: readonly Migration[]): void {
  const newest = manifest.migrations.length
  if (newest > known.length)
    throw new BackupRefused(
      `The backup has schema ${newest}, but this program knows only schemas up to ${known.length}: restore the backup with Steelyard ${manifest.version} or newer`,
    )
  const other = manifest.migrations.find(
    (m, i) => m.number !== known[i]!.number || m.checksum !== known[i]!.checksum,
  )
  if (other)
    throw new BackupRefused(
      `Schema ${other.number} (${other.name}) of the backup is not the one that this program knows`,
    )
}

const askRelations = `select c.relname as name from pg_class c
  where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'S', 'f')
    and not exists (select 1 from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')`

/** @throws BackupRefused if the database isn't empty */
async function demandEmpty(client: PoolClient): Promise<void> {
  const { rows } = await client.query<{ name: string }>(askRelations)
  if (rows.length === 0) return
  const some = rows.slice(0, 3).map((row) => row.name)
  throw new BackupRefused(
    `The database isn't empty (${some.join(', ')}${rows.length > 3 ? ', …' : ''}): a backup is restored only into an empty one. Set STEELYARD_DATA to a new folder, or DATABASE_URL to a new database`,
  )
}

type ForeignKey = { table: string; name: string; definition: string }
const askForeignKeys = `select conrelid::regclass::text as table, quote_ident(conname) as name, pg_get_constraintdef(oid) as definition
  from pg_constraint where contype = 'f' and connamespace = current_schema()::regnamespace`

/**
 * Fills the tables in the caller's transaction and migrates the schema to the newest version.
 * Returns a summary of the backup.
 */
export async function load(
  client: PoolClient,
  records: AsyncGenerator<Part | Buffer>,
  migrations: readonly Migration[],
): Promise<Contents> {
  await client.query(
    'set local statement_timeout = 0; set local idle_in_transaction_session_timeout = 0',
  )
  // A Steelyard that starts during the restore waits until the restore has ended.
  await client.query('select pg_advisory_xact_lock($1)', [migrationLock])
  await demandEmpty(client)
  let foreignKeys: ForeignKey[] = []
  const contents = await visit(records, {
    async begin(manifest) {
      demandKnownSchema(manifest, migrations)
      await makeMigrationTable(client)
      for (const migration of migrations.slice(0, manifest.migrations.length))
        await runMigration(client, migration)
      // The tables are in arbitrary order, so foreign keys are added at the end.
      foreignKeys = (await client.query<ForeignKey>(askForeignKeys)).rows
      for (const { table, name } of foreignKeys)
        await client.query(`alter table ${table} drop constraint ${name}`)
    },
    async table({ name, columns }, rows) {
      // Deletes the rows that the migrations inserted: the backup contains these rows too, in their
      // newer state.
      await client.query(`delete from ${quote(name)}`)
      return fill(client, `copy ${quote(name)} (${columns.map(quote).join(', ')}) from stdin`, rows)
    },
    sequence: async (name, last) =>
      void (await client.query('select setval(quote_ident($1)::regclass, $2::bigint)', [
        name,
        last,
      ])),
  })
  for (const { table, name, definition } of foreignKeys)
    await client.query(`alter table ${table} add constraint ${name} ${definition}`)
  for (const migration of migrations.slice(contents.manifest.migrations.length))
    await runMigration(client, migration)
  return contents
}

async function fill(
  client: PoolClient,
  text: string,
  rows: AsyncIterable<Buffer>,
): Promise<number> {
  const stream = client.query(copyFrom(text))
  // The handler is added before the loop, because the database may refuse the COPY while rows are
  // still being read.
  const over = finished(stream)
  over.catch(() => undefined)
  try {
    for await (const bytes of rows)
      if (!stream.write(bytes)) await Promise.race([once(stream, 'drain'), over])
    stream.end()
    await over
    return stream.rowCount
  } catch (error) {
    stream.destroy(error instanceof Error ? error : new Error(String(error)))
    throw error
  }
}
