import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { auditList } from '#contract/audit.ts'
import { datacenterCreate, datacenterRemove } from '#contract/datacenters.ts'
import { authorize } from '#contract/sessions.ts'
import { inTransaction } from '../../db/db.ts'
import { type Backend, startBackend } from '../../testing/backend.ts'

const place = { country_code: 'PL', city_code: 'POZ', city_name: 'Poznań', tier: null, certifications: [], latitude: null, longitude: null }

async function withEntries(): Promise<Backend> {
  const backend = await startBackend()
  const admin = await backend.signIn()
  for (let i = 0; i < 5; i++) await admin.call(datacenterCreate, { body: place })
  await backend.publish()
  return backend
}

test('a change is in the log with who, what, whence and the result', async () => {
  const backend = await startBackend()
  const admin = await backend.signIn()
  const { answer } = await admin.call(datacenterCreate, { body: place })
  await admin.call(datacenterRemove, { params: { id: answer!.id } })
  await backend.call(authorize, { body: { email: admin.email, password: 'not the password' } })
  await backend.publish()
  const about = (await admin.call(auditList, { query: { target: answer!.id } })).answer!
  expect(about.items.map((e) => e.action)).toEqual(['datacenter.removed', 'datacenter.created'])
  expect(about.items[1]).toMatchObject({
    actor: admin.email,
    ip: '127.0.0.1',
    result: 'ok',
    target: { kind: 'datacenter', id: answer!.id, name: 'PL-POZ-1' },
    after: { code: 'PL-POZ-1' },
  })
  const refused = (await admin.call(auditList, { query: { action: 'session.refused' } })).answer!
  expect(refused.items[0]).toMatchObject({ actor: null, result: 'invalid_credentials', target: { id: admin.userId } })
  expect(JSON.stringify(await admin.call(auditList))).not.toContain(admin.password)
})

test('the log can be searched literally, and paged', async () => {
  const backend = await withEntries()
  const admin = await backend.signIn()
  await backend.publish()
  const { answer: page } = await admin.call(auditList, { query: { action: 'datacenter.created', per_page: 2, page: 2 } })
  expect(page).toMatchObject({ page: 2, per_page: 2, total: 5 })
  expect(page!.items).toHaveLength(2)
  const total = async (q: string) => (await admin.call(auditList, { query: { q } })).answer!.total
  expect(await Promise.all(['%', '_', "' OR 1=1 --", '\\'].map(total))).toEqual([0, 0, 0, 0])
  expect((await admin.call(auditList, { query: { q: 'PL-POZ-3' } })).answer!.total).toBe(1)
})

test('the chain holds, also when several write at once', async () => {
  const backend = await withEntries()
  const admin = await backend.signIn()
  await Promise.all(Array.from({ length: 20 }, () => admin.call(datacenterCreate, { body: place })))
  await backend.publish()
  const verdict = await backend.domains.audit.verify()
  expect(verdict).toMatchObject({ ok: true })
  expect((verdict as { entries: number }).entries).toBeGreaterThan(25)
})

test('nobody changes or removes an entry, not even by SQL', async () => {
  const { db } = (await withEntries()).platform
  await expect(db.updateTable('audit_entry').set({ actor_name: 'somebody else' }).execute()).rejects.toThrow('append-only')
  await expect(db.deleteFrom('audit_entry').where('seq', '=', 1).execute()).rejects.toThrow('append-only')
  await expect(sql`truncate audit_entry`.execute(db)).rejects.toThrow('append-only')
})

/** What somebody who owns the database could do. */
const behindTheTrigger = ({ platform }: Backend, change: ReturnType<typeof sql>) =>
  inTransaction(platform.db, async (tx) => {
    await sql`alter table audit_entry disable trigger all`.execute(tx)
    await change.execute(tx)
    await sql`alter table audit_entry enable trigger all`.execute(tx)
  })

test.each([
  ['edited', sql`update audit_entry set actor_name = 'somebody else' where seq = 4`, 4],
  ['removed', sql`delete from audit_entry where seq = 4`, 4],
  ['the last removed', sql`delete from audit_entry where seq = (select max(seq) from audit_entry)`, 7],
  ['put in another order', sql`update audit_entry set seq = case seq when 4 then 1005 else 1004 end where seq in (4, 5)`, 4],
  ['edited, with a new hash', sql`update audit_entry set actor_name = 'x', hash = repeat('0', 64) where seq = 4`, 4],
])('an entry that was %s is found by its number', async (_how, change, seq) => {
  const backend = await withEntries()
  expect(await backend.domains.audit.verify()).toEqual({ ok: true, entries: 7 })
  await behindTheTrigger(backend, change)
  expect(await backend.domains.audit.verify()).toMatchObject({ ok: false, seq })
})

test('the events of one object, for people', async () => {
  const backend = await startBackend()
  const admin = await backend.signIn()
  const { answer } = await admin.call(datacenterCreate, { body: place })
  await backend.publish()
  expect(await backend.domains.audit.ofTarget({ kind: 'datacenter', id: answer!.id }, 10)).toMatchObject([
    { action: 'datacenter.created', actor: admin.email, after: { code: 'PL-POZ-1' } },
  ])
})
