/**
 * Runs `backup` and `restore` on a database that is configured as external. `main.test.ts` tests
 * the embedded PostgreSQL.
 */
import { randomUUID } from 'node:crypto'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { Client } from 'pg'
import { expect, test } from 'vitest'
import { auditList } from '#contract/audit.ts'
import { datacenterCreate } from '#contract/datacenters.ts'
import { demandKnownSchema, visit } from '../backup/load.ts'
import { readBackup } from '../backup/write.ts'
import type { Connection } from '../db/connection.ts'
import { readMigrations } from '../db/migrate.ts'
import { startBackend } from '../testing/backend.ts'
import { freshDatabase } from '../testing/databases.ts'
import { temporaryFolder } from '../testing/folder.ts'
import { urlOf } from '../testing/postgres.ts'
import { runCommand } from '../testing/surroundings.ts'
import { auditVerify } from './audit-verify.ts'
import { backup, restore } from './backup.ts'

const passphrase = 'quite a long passphrase'

async function query<T extends object>(
  connection: Connection,
  text: string,
  values: unknown[] = [],
): Promise<T[]> {
  const client = new Client(connection)
  await client.connect()
  try {
    return (await client.query<T>(text, values)).rows
  } finally {
    await client.end()
  }
}

const source = await startBackend()
const admin = await source.signIn()
const odd = 'a\ttab, a\nline, \\N, a \\ and “quotes” €'
for (const city_name of ['Poznań', odd.slice(0, 30)])
  await admin.call(datacenterCreate, {
    body: {
      country_code: 'PL',
      city_code: 'POZ',
      city_name,
      tier: null,
      certifications: [],
      latitude: 52.4,
      longitude: 16.9,
    },
  })
await query(source.database.connection, 'update datacenter set notes = $1', [odd])
await source.publish()
const cluster = randomUUID()
const escrow = Buffer.from(Array.from({ length: 3000 }, (_, i) => i % 256))
mkdirSync(path.join(source.config.dataFolder, 'escrow'))
writeFileSync(path.join(source.config.dataFolder, 'escrow', `${cluster}.bin`), escrow, {
  mode: 0o600,
})

const settingsOf = (folder: string, connection: Connection) => ({
  STEELYARD_DATA: folder,
  DATABASE_URL: urlOf(connection),
})
const settings = settingsOf(source.config.dataFolder, source.database.connection)
const folder = temporaryFolder('backups')
const passphraseFile = path.join(folder, 'passphrase')
writeFileSync(passphraseFile, `${passphrase}\n`, { mode: 0o600 })
const unattended = ['--passphrase-file', passphraseFile]

/** A target for a restore: an empty database and a data folder that doesn't exist. */
async function target() {
  const connection = await freshDatabase({ empty: true })
  const data = path.join(temporaryFolder('restored'), 'data')
  return { connection, data, settings: settingsOf(data, connection) }
}
type Target = Awaited<ReturnType<typeof target>>
const restoring = (
  file: string,
  { settings: to }: Pick<Target, 'settings'>,
  more: Parameters<typeof runCommand>[2] = {},
) => runCommand((around) => restore([file, ...(more.typed ? [] : unattended)], around), to, more)
const relations = (connection: Connection) =>
  query(
    connection,
    `select relname from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'S')`,
  )

let made = 0
async function backedUp(from = settings): Promise<string> {
  const file = path.join(folder, `backup-${++made}`)
  const ran = await runCommand((around) => backup([file, ...unattended], around), from)
  expect(ran).toMatchObject({ code: 0, err: '' })
  return file
}
const file = await backedUp()

const tables = `select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r' order by 1`
/**
 * Tables that may differ: a restore changes them by design, or `backup` writes to them after it has
 * read them.
 */
const settled = new Set([
  'migration',
  'restoration',
  'hold',
  'session',
  'refresh_token',
  'publication',
  'outbox',
  'audit_entry',
])

test('a restore brings back all data, the key file and the escrow file, and is recorded in the audit log', async () => {
  const to = await target()
  const ran = await restoring(file, to)
  expect(ran).toMatchObject({ code: 0, err: '' })
  expect(ran.out).toMatch(/^Restored \d+ rows of \d{4}-.* UTC \(Steelyard 1\.2\.3\) and 2 files\./)
  for (const { name } of await query<{ name: string }>(source.database.connection, tables)) {
    if (settled.has(name)) continue
    const rows = `select t::text as row from "${name}" t order by 1`
    expect({ name, rows: await query(to.connection, rows) }).toEqual({
      name,
      rows: await query(source.database.connection, rows),
    })
  }
  expect(
    (await query<{ notes: string }>(to.connection, 'select notes from datacenter limit 1'))[0]!
      .notes,
  ).toBe(odd)
  expect(readFileSync(path.join(to.data, 'key'))).toEqual(readFileSync(source.config.keyFile))
  expect(readFileSync(path.join(to.data, 'escrow', `${cluster}.bin`))).toEqual(escrow)
  for (const name of ['key', `escrow/${cluster}.bin`])
    expect(statSync(path.join(to.data, name)).mode & 0o777).toBe(0o600)
  const restored = await startBackend({ connection: to.connection, environment: to.settings })
  const person = await restored.signIn()
  await restored.publish()
  const { answer } = await person.call(auditList, { query: { action: 'installation.restored' } })
  expect(answer!.items).toHaveLength(1)
  const head = (
    await query<{ hash: string; seq: number }>(
      source.database.connection,
      'select last_hash as hash, last_audit::int as seq from publication',
    )
  )[0]!
  expect(await runCommand((around) => auditVerify([], around), to.settings)).toMatchObject({
    code: 0,
  })
  expect((await restored.domains.audit.verify({ hash: head.hash, seq: head.seq })).ok).toBe(true)
  // Sequences continue after their restored values, so a new row can be inserted.
  expect(
    (
      await person.call(datacenterCreate, {
        body: {
          country_code: 'PL',
          city_code: 'POZ',
          city_name: 'P',
          tier: null,
          certifications: [],
          latitude: null,
          longitude: null,
        },
      })
    ).status,
  ).toBe(201)
  await restored.stop()
})

test('a backup contains no plaintext secret, and only the owner of the file can read it', async () => {
  const bytes = readFileSync(file)
  expect(statSync(file).mode & 0o777).toBe(0o600)
  const key = readFileSync(source.config.keyFile, 'utf8').split(' ')[2]!.trim()
  for (const secret of [key, admin.email, passphrase]) expect(bytes.includes(secret)).toBe(false)
  expect(bytes.includes(escrow.subarray(0, 256))).toBe(false)
  expect(readdirSync(folder).filter((name) => name.endsWith('.part'))).toEqual([])
})

test('a backup during writes is consistent', async () => {
  const over = new AbortController()
  // Two tables that a transaction always changes together.
  const { connection } = source.database
  await query(
    connection,
    'create table pair_one (n integer); create table zz_pair_two (n integer); insert into pair_one values (0); insert into zz_pair_two values (0)',
  )
  const client = new Client(connection)
  await client.connect()
  const write = (n: number) =>
    client.query(`begin; update pair_one set n = ${n}; update zz_pair_two set n = ${n}; commit`)
  // Before the backup, which may be over before the next.
  await write(1)
  const writing = (async () => {
    for (let n = 2; !over.signal.aborted; n++) await write(n)
    await client.end()
  })()
  const during = await backedUp()
  over.abort()
  await writing
  const rows = await contentsOf(during, ['pair_one', 'zz_pair_two'])
  expect(rows.get('pair_one')).toBe(rows.get('zz_pair_two'))
  expect(Number(rows.get('pair_one'))).toBeGreaterThan(0)
  await query(connection, 'drop table pair_one, zz_pair_two')
})

async function contentsOf(name: string, wanted: readonly string[]): Promise<Map<string, string>> {
  const found = new Map<string, string>()
  await visit(readBackup(name, passphrase), {
    async table(part, bytes) {
      const text = Buffer.concat(await Array.fromAsync(bytes)).toString()
      if (wanted.includes(part.name)) found.set(part.name, text)
      return text.split('\n').length - 1
    },
  })
  return found
}

test('a truncated or changed file is refused before anything is changed', async () => {
  const to = await target()
  const whole = readFileSync(file)
  const spoilt = path.join(folder, 'spoilt')
  const middle = Math.floor(whole.length / 2)
  for (const [bytes, why] of [
    [whole.subarray(0, middle), /cut off, or was changed/],
    [whole.subarray(0, 30), /cut off/],
    [
      Buffer.concat([
        whole.subarray(0, middle),
        Buffer.from([whole[middle]! ^ 1]),
        whole.subarray(middle + 1),
      ]),
      /was changed around byte/,
    ],
  ] as const) {
    writeFileSync(spoilt, bytes)
    const ran = await restoring(spoilt, to)
    expect(ran.code).toBe(1)
    expect(ran.err).toMatch(why)
    expect(ran.err).toMatch(/Nothing was changed\n$/)
  }
  expect(existsSync(to.data)).toBe(false)
  expect(await relations(to.connection)).toEqual([])
})

test('a restore refuses a wrong passphrase, and a backup refuses a weak passphrase', async () => {
  const to = await target()
  expect(await restoring(file, to, { typed: ['quite another passphrase'] })).toMatchObject({
    code: 1,
    err: 'This is not the passphrase of this backup. Nothing was changed\n',
  })
  const other = path.join(folder, 'other')
  const typed = (...lines: string[]) =>
    runCommand((around) => backup([other], around), settings, { typed: lines })
  expect(await typed('short')).toMatchObject({
    code: 1,
    err: expect.stringContaining('needs 12 or more') as string,
  })
  expect(await typed(passphrase, `${passphrase}.`)).toMatchObject({
    code: 1,
    err: 'The two passphrases differ\n',
  })
  expect(await runCommand((around) => backup([other], around), settings)).toMatchObject({
    code: 1,
    err: expect.stringContaining('--passphrase-file') as string,
  })
  const open = path.join(folder, 'open')
  writeFileSync(open, passphrase, { mode: 0o644 })
  expect(
    await runCommand((around) => backup([other, '--passphrase-file', open], around), settings),
  ).toMatchObject({
    code: 1,
    err: expect.stringContaining('chmod 0600') as string,
  })
  const latin = path.join(folder, 'latin')
  writeFileSync(latin, Buffer.from(`${passphrase}\xf3`, 'latin1'), { mode: 0o600 })
  expect(
    await runCommand((around) => backup([other, '--passphrase-file', latin], around), settings),
  ).toMatchObject({ code: 1, err: expect.stringContaining('is not UTF-8 text') as string })
  expect(await runCommand((around) => backup([], around), settings)).toMatchObject({ code: 2 })
  expect(existsSync(other)).toBe(false)
  expect((await typed(passphrase, passphrase)).code).toBe(0)
})

test('no backup, database, key file or escrow file is overwritten', async () => {
  const again = await runCommand((around) => backup([file, ...unattended], around), settings)
  expect(again).toMatchObject({ code: 1, err: expect.stringContaining('exists already') as string })
  const to = await target()
  await query(to.connection, 'create table theirs (n integer)')
  expect(await restoring(file, to)).toMatchObject({
    code: 1,
    err: expect.stringContaining("isn't empty (theirs)") as string,
  })
  expect(existsSync(path.join(to.data, 'key'))).toBe(false)
  await query(to.connection, 'drop table theirs')
  const key = path.join(temporaryFolder('key'), 'key')
  copyFileSync((await startBackend()).config.keyFile, key)
  const elsewhere = { ...to, settings: { ...to.settings, STEELYARD_KEY_FILE: key } }
  expect(await restoring(file, elsewhere)).toMatchObject({
    code: 1,
    err: expect.stringContaining('Another key file exists at') as string,
  })
  // The name of the key file has room, that of the file from which it is linked has none.
  const full = path.join(temporaryFolder('key'), 'k'.repeat(250))
  const without = { ...to, settings: { ...to.settings, STEELYARD_KEY_FILE: full } }
  expect((await restoring(file, without)).err).toMatch(
    /can't be written \(.*\), the key file, .*k: let this account write to its folder, or set STEELYARD_KEY_FILE to another place\. Nothing was changed\n$/,
  )
  const there = path.join(to.data, 'escrow')
  mkdirSync(there, { recursive: true })
  writeFileSync(path.join(there, `${cluster}.bin`), 'another')
  expect(await restoring(file, to)).toMatchObject({
    code: 1,
    err: expect.stringContaining('Another escrow file') as string,
  })
  writeFileSync(path.join(there, `${cluster}.bin`), escrow)
  copyFileSync(source.config.keyFile, path.join(to.data, 'key'))
  expect(await relations(to.connection)).toEqual([])
  expect((await restoring(file, to)).code).toBe(0)
  // The target is no longer empty.
  expect((await restoring(file, to)).code).toBe(1)
})

test('a restore that is interrupted or loses its database connection leaves nothing behind, and can be repeated', async () => {
  const to = await target()
  const over = new AbortController()
  const ending = (async () => {
    // Ends the restore's connection after the first change, in the middle of the transaction.
    while (!over.signal.aborted) {
      const rows = await query<{ pid: number }>(
        to.connection,
        `select pg_terminate_backend(pid) as pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and backend_xid is not null`,
      )
      if (rows.length > 0) return
    }
  })()
  const ran = await restoring(file, to)
  over.abort()
  await ending
  expect(ran).toMatchObject({ code: 1 })
  expect(await relations(to.connection)).toEqual([])
  expect(existsSync(path.join(to.data, 'key'))).toBe(false)
  const stopped = await restoring(file, to, { stopAsked: Promise.resolve('SIGTERM') })
  expect(stopped).toMatchObject({ code: 1, err: 'Stopped by SIGTERM. Nothing was changed\n' })
  expect(await relations(to.connection)).toEqual([])
  expect(existsSync(path.join(to.data, 'key'))).toBe(false)
  expect((await restoring(file, to)).code).toBe(0)
})

test('a restore refuses a backup with a newer schema, and migrates a backup with an older schema', async () => {
  const { manifest } = await visit(readBackup(file, passphrase))
  const known = await readMigrations()
  expect(() => demandKnownSchema(manifest, known.slice(0, -1))).toThrow(/knows only schemas up to/)
  expect(() => demandKnownSchema(manifest, known.with(2, { ...known[2]!, checksum: 'x' }))).toThrow(
    /is not the one/,
  )
  // A backup from a version whose audit log had no key yet.
  const older = await target()
  const client = new Client(older.connection)
  await client.connect()
  await client.query(
    'create table migration (number integer primary key, name text not null, checksum text not null, run_at timestamptz(3) not null default now())',
  )
  for (const m of known.slice(0, 11)) {
    await client.query(m.sql)
    await client.query('insert into migration (number, name, checksum) values ($1, $2, $3)', [
      m.number,
      m.name,
      m.checksum,
    ])
  }
  await client.query(
    `insert into datacenter (country_code, city_code, city_name, index, created_at, updated_at) values ('PL', 'POZ', 'Poznań', 1, now(), now())`,
  )
  await client.end()
  mkdirSync(older.data, { recursive: true })
  copyFileSync(source.config.keyFile, path.join(older.data, 'key'))
  const old = await backedUp(older.settings)
  const to = await target()
  expect((await restoring(old, to)).code).toBe(0)
  expect(await query(to.connection, 'select city_name from datacenter')).toEqual([
    { city_name: 'Poznań' },
  ])
  expect(await query(to.connection, 'select max(number) as n from migration')).toEqual([
    { n: known.length },
  ])
  expect(await query(to.connection, 'select chain_sealed from publication')).toEqual([
    { chain_sealed: null },
  ])
})
