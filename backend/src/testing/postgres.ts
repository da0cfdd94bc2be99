/**
 * The PostgreSQL of a test run: the embedded one, started once and deleted, or the one in
 * `TEST_DATABASE_URL`.
 */
import { createHash } from 'node:crypto'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { arch, tmpdir, userInfo } from 'node:os'
import path from 'node:path'
import self, { env, kill, pid, platform } from 'node:process'
import { Client, Pool } from 'pg'
import type { TestProject } from 'vitest/node'
import type { Connection } from '../db/connection.ts'
import { databaseAccount } from '../db/embedded/account.ts'
import { binaries } from '../db/embedded/binaries.ts'
import { embeddedPostgres } from '../db/embedded/supervisor.ts'
import { migrate, readMigrations } from '../db/migrate.ts'
import { silent } from '../log.ts'
import type { Machine } from '../machine.ts'
import { type Pristine, pristineOf } from './pristine.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The server, and the migrated template of the test databases with its content. */
    postgres: { connection: Connection; template: string; pristine: Pristine }
  }
}

/** The machine for the tests. */
export const testMachine: Machine = {
  pid,
  uid: userInfo().uid,
  platform,
  arch: arch(),
  temporary: tmpdir(),
  kill: (id, signal) => void kill(id, signal),
  atExit: (act) => {
    self.on('exit', act)
    return () => void self.off('exit', act)
  },
}

/** A temporary folder that the database's account can enter. The caller removes it. */
export function makeFolder(name: string): string {
  const folder = mkdtempSync(path.join(tmpdir(), `steelyard-test-${name}-`))
  chmodSync(folder, 0o711)
  return folder
}

/**
 * Creates the migrated template if it doesn't exist. Its name contains the checksums of the
 * migrations.
 */
async function makeTemplate(
  connection: Connection,
): Promise<{ template: string; pristine: Pristine }> {
  const migrations = await readMigrations()
  const template = `steelyard_template_${createHash('sha256')
    .update(migrations.map((m) => m.checksum).join())
    .digest('hex')
    .slice(0, 16)}`
  const admin = new Client(connection)
  await admin.connect()
  try {
    await admin.query('select pg_advisory_lock(7219004114)')
    const { rowCount } = await admin.query(
      'select 1 from pg_database where datname = $1 and datistemplate',
      [template],
    )
    if (!rowCount) {
      await admin.query(`drop database if exists ${template}`)
      await admin.query(`create database ${template}`)
      const pool = new Pool({ ...connection, database: template, max: 1 })
      try {
        await migrate(pool, migrations)
      } finally {
        await pool.end()
      }
      await admin.query(`alter database ${template} is_template true`)
    }
    const reading = new Client({ ...connection, database: template })
    await reading.connect()
    try {
      return { template, pristine: await pristineOf(reading) }
    } finally {
      await reading.end()
    }
  } finally {
    await admin.end()
  }
}

/** Parses a database URL into settings, so that each test file can change the database's name. */
function parseUrl(text: string): Connection {
  const url = new URL(text)
  const host = url.searchParams.get('host') ?? decodeURIComponent(url.hostname)
  return {
    host,
    ...(url.port && { port: Number(url.port) }),
    user: decodeURIComponent(url.username),
    ...(url.password && { password: decodeURIComponent(url.password) }),
    database: decodeURIComponent(url.pathname.slice(1)) || 'postgres',
  }
}

/** The URL of a database from its settings. */
export function urlOf({
  host = 'localhost',
  port,
  user = '',
  password,
  database = '',
}: Connection): string {
  const url = new URL(
    `postgresql://${host.startsWith('/') ? 'localhost' : host}${port ? `:${port}` : ''}/${database}`,
  )
  url.username = user
  if (typeof password === 'string') url.password = password
  if (host.startsWith('/')) url.searchParams.set('host', host)
  return url.href
}

/** For vitest's `globalSetup`. The projects of the backend share one server. */
export default async function setup({ vitest }: TestProject): Promise<() => Promise<void>> {
  const project = vitest.getRootProject()
  if ('postgres' in project.getProvidedContext()) return () => Promise.resolve()
  const url = env['TEST_DATABASE_URL']
  if (url) {
    const connection = parseUrl(url)
    project.provide('postgres', { connection, ...(await makeTemplate(connection)) })
    return () => Promise.resolve()
  }
  const folder = makeFolder('postgres')
  const account = await databaseAccount(testMachine, silent)
  const server = embeddedPostgres({
    folder,
    account,
    binaries: binaries(folder, account, testMachine.platform, testMachine.arch),
    machine: testMachine,
    log: silent,
    forgetful: true,
  })
  await server.start()
  project.provide('postgres', {
    connection: { ...server.connection },
    ...(await makeTemplate(server.connection)),
  })
  return async () => {
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}
