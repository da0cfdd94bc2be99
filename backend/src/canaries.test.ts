/** Secrets that are planted here must be found nowhere: not in logs, answers, the audit log, events, metrics or the database's own rows. */
import { readFile } from 'node:fs/promises'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { auditList } from '#contract/audit.ts'
import { authorize, authorizeRefresh } from '#contract/sessions.ts'
import { userCreate, userList } from '#contract/users.ts'
import { inTransaction } from './db/db.ts'
import { logger } from './log.ts'
import { startBackend } from './testing/backend.ts'

test('planted secrets are found nowhere', async () => {
  const lines: string[] = []
  const backend = await startBackend({ log: logger({ level: 'debug', readable: false, now: () => 0, write: (line) => void lines.push(line) }) })
  const { db, vault } = backend.platform
  const admin = await backend.signIn()
  const wrong = 'a wrong password typed by canary'
  const given = 'the password given to a canary'
  const answers = [
    await admin.call(userCreate, { body: { email: 'canary@example.com', name: 'Canary', role: 'viewer', password: given } }, { idempotencyKey: 'canary' }),
    await backend.call(authorize, { body: { email: 'canary@example.com', password: wrong } }),
    await backend.call(authorize, { body: { email: 'canary@example.com', password: given, note: 'x' } as never }),
    await admin.call(userList),
  ]
  const { answer: rotated } = await backend.call(authorizeRefresh, { body: { refresh_token: admin.refreshToken, rotate: true } })
  const bundle = 'the private key of a canary cluster'
  const sealed = await inTransaction(db, (tx) => vault.seal(tx, { table: 'cluster', column: 'secrets', owner: 'canary', bytes: Buffer.from(bundle) }))
  await db
    .insertInto('waitlist_entry')
    .values({ email: 'sealed', name: Buffer.from(sealed).toString('latin1').replaceAll('\0', ''), company: '', created_at: new Date() })
    .execute()
  await vault.escrow('canary', Buffer.from(bundle))
  await backend.publish()
  const { answer: audit } = await admin.call(auditList, { query: { per_page: 1000 } })
  const metrics = (await backend.app.inject({ url: '/metrics' })).body

  const { rows: tables } = await sql<{ name: string }>`select table_name as name from information_schema.tables where table_schema = 'public'`.execute(db)
  const dump: string[] = []
  for (const { name } of tables) {
    const { rows } = await sql<{ text: string }>`select t::text as text from ${sql.id(name)} as t`.execute(db)
    dump.push(...rows.map((r) => r.text))
  }
  const escrow = await readFile(`${backend.config.dataFolder}/escrow/canary.bin`, 'utf8')
  const key = (await readFile(backend.config.keyFile, 'utf8')).trim().split(' ')[2]!
  const secrets = [admin.password, wrong, given, admin.accessToken, admin.refreshToken, rotated!.refresh_token!, rotated!.access_token, key, bundle]
  const places: Record<string, string> = {
    logs: lines.join(''),
    answers: answers.map((a) => a.text).join(''),
    audit: JSON.stringify(audit),
    metrics,
    escrow,
    dump: dump.join('\n'),
  }
  expect(dump.length).toBeGreaterThan(10)
  expect(lines.length).toBeGreaterThan(3)
  const found = Object.entries(places).flatMap(([place, text]) =>
    secrets.flatMap((secret, i) =>
      [secret, Buffer.from(secret).toString('base64'), Buffer.from(secret).toString('hex')]
        .filter((form) => text.includes(form))
        .map(() => `secret ${i} in ${place}`),
    ),
  )
  expect(found).toEqual([])
})
