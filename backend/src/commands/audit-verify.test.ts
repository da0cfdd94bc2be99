import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { startBackend } from '../testing/backend.ts'
import { temporaryFolder } from '../testing/folder.ts'
import { urlOf } from '../testing/postgres.ts'
import { runCommand } from '../testing/surroundings.ts'
import { auditVerify } from './audit-verify.ts'

const backend = await startBackend()
await backend.signIn()
await backend.signIn()
await backend.publish()
const settings = {
  STEELYARD_DATA: backend.config.dataFolder,
  DATABASE_URL: urlOf(backend.database.connection),
}
const verify = (args: string[] = [], environment: Record<string, string> = {}) =>
  runCommand((around) => auditVerify(args, around), { ...settings, ...environment })

test('audit verify prints the number of entries and the head hash, which --head accepts', async () => {
  const { code, out } = await verify()
  expect(code).toBe(0)
  const [, entries, head] =
    /^The audit log is intact: (\d+) entries\nHead: ([0-9a-f]{64}@\d+)\n$/.exec(out)!
  expect(head!.endsWith(`@${entries}`)).toBe(true)
  expect((await verify(['--head', head!])).code).toBe(0)
  const other = `${'0'.repeat(64)}@2`
  const refused = await verify(['--head', other])
  expect(refused).toMatchObject({
    code: 1,
    out: '',
    err: expect.stringContaining('entry 2 has another hash') as string,
  })
})

test('the exit code of audit verify distinguishes a changed log from a check that could not run', async () => {
  const nowhere = await verify([], { STEELYARD_KEY_FILE: '/nonexistent/key' })
  expect(nowhere).toMatchObject({
    code: 7,
    err: expect.stringContaining('no key file at /nonexistent/key') as string,
  })
  expect((await verify(['--head', 'abc@1'])).code).toBe(2)
  expect((await verify(['--tail'])).code).toBe(2)
  expect((await verify([], { PORT: 'x' })).code).toBe(2)
  const key = path.join(temporaryFolder('key'), 'key')
  writeFileSync(key, 'not a key\n', { mode: 0o600 })
  expect((await verify([], { STEELYARD_KEY_FILE: key })).code).toBe(7)
})

test('audit verify names the first changed entry', async () => {
  await sql`alter table audit_entry disable trigger all`.execute(backend.database.db)
  await sql`update audit_entry set actor_name = 'somebody else' where seq = 2`.execute(
    backend.database.db,
  )
  expect(await verify()).toMatchObject({
    code: 1,
    err: 'The audit log is not intact: entry 2 was changed\n',
  })
})
