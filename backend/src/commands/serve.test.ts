/** Which starts a service manager repeats: its unit leaves out those that end with 2. */
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import path from 'node:path'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { connect } from '../db/db.ts'
import { freshDatabase } from '../testing/databases.ts'
import { whenOver } from '../testing/ending.ts'
import { temporaryFolder } from '../testing/folder.ts'
import { urlOf } from '../testing/postgres.ts'
import { runCommand } from '../testing/surroundings.ts'
import { addKey } from '../vault/key-file.ts'
import { serve } from './serve.ts'

const connection = await freshDatabase()
const folder = temporaryFolder('serve')
const { db, close } = connect({ connection, poolSize: 1 })
whenOver(close)
const start = (more: Record<string, string> = {}) =>
  runCommand(serve, {
    DATABASE_URL: urlOf(connection),
    STEELYARD_DATA: path.join(folder, 'data'),
    PORT: '0',
    ...more,
  })
const keyFile = async (name: string) => {
  const file = path.join(folder, name)
  writeFileSync(file, '', { mode: 0o600 })
  await addKey(file)
  return file
}

test('a taken port may become free, so serve ends with 1', async () => {
  const other = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => other.once('listening', resolve))
  const { port } = other.address() as { port: number }
  expect(await start({ PORT: String(port) })).toMatchObject({
    code: 1,
    err: expect.stringContaining(`port ${port} is in use`) as string,
  })
  other.close()
})

test('another key file than that of the database ends serve with 2', async () => {
  const { err, code } = await start({ STEELYARD_KEY_FILE: await keyFile('other') })
  expect(err).toMatch(/is not the key file of this database, which was sealed with key [0-9a-f]+/)
  expect(code).toBe(2)
})

test('a database that is newer than the program ends serve with 2', async () => {
  await sql`insert into migration (number, name, checksum) values (9999, 'later', 'c')`.execute(db)
  const { err, code } = await start()
  expect(err).toMatch(/^The database has schema 9999 \(later\), .* start a newer Steelyard/m)
  expect(code).toBe(2)
})
