import { readFileSync, writeFileSync } from 'node:fs'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import {
  type AuditCheck,
  type AuditEntry,
  auditCsv,
  auditCsvColumns,
  auditList,
  auditNdjson,
  auditVerify,
} from '#contract/audit.ts'
import { datacenterCreate, datacenterRemove } from '#contract/datacenters.ts'
import { authorize, authorizeLogout } from '#contract/sessions.ts'
import { inTransaction } from '../../db/db.ts'
import { system } from '../../http/caller.ts'
import { type Backend, startBackend } from '../../testing/backend.ts'
import { parseCsv } from '../../csv/csv.ts'
import { addKey, readKeyFile } from '../../vault/key-file.ts'
import { vault } from '../../vault/vault.ts'
import { unkeyedHash } from '../events/chain.ts'
import { verifyAudit } from './audit.ts'

const place = {
  country_code: 'PL',
  city_code: 'POZ',
  city_name: 'Poznań',
  tier: null,
  certifications: [],
  latitude: null,
  longitude: null,
}

async function withEntries(): Promise<Backend> {
  const backend = await startBackend()
  const admin = await backend.signIn()
  for (let i = 0; i < 5; i++) await admin.call(datacenterCreate, { body: place })
  await backend.publish()
  return backend
}

test('an audit entry names the user, the action, the source address and the result', async () => {
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
  expect(refused.items[0]).toMatchObject({
    actor: null,
    result: 'invalid_credentials',
    target: { id: admin.userId },
  })
  expect(JSON.stringify(await admin.call(auditList))).not.toContain(admin.password)
})

test('the audit log is searched for literal text, and is paged', async () => {
  const backend = await withEntries()
  const admin = await backend.signIn()
  await backend.publish()
  const { answer: page } = await admin.call(auditList, {
    query: { action: 'datacenter.created', per_page: 2, page: 2 },
  })
  expect(page).toMatchObject({ page: 2, per_page: 2, total: 5 })
  expect(page!.items).toHaveLength(2)
  const total = async (q: string) => (await admin.call(auditList, { query: { q } })).answer!.total
  expect(await Promise.all(['%', '_', "' OR 1=1 --", '\\'].map(total))).toEqual([0, 0, 0, 0])
  expect((await admin.call(auditList, { query: { q: 'PL-POZ-3' } })).answer!.total).toBe(1)
})

test('the audit log is filtered by kind of object, result, source address and time', async () => {
  const backend = await withEntries()
  const admin = await backend.signIn()
  await backend.call(authorize, { body: { email: admin.email, password: 'not the password' } })
  await backend.publish()
  const actions = async (query: object) =>
    (await admin.call(auditList, { query })).answer!.items.map((e) => e.action)
  expect(await actions({ about: 'datacenter' })).toEqual(
    Array.from({ length: 5 }, () => 'datacenter.created'),
  )
  expect(await actions({ result: 'refused' })).toEqual(['session.refused'])
  expect(await actions({ result: 'ok', about: 'session', actor: admin.email })).toEqual([
    'session.started',
  ])
  expect((await actions({ ip: '127.0.0.1' })).length).toBeGreaterThan(5)
  expect(await actions({ ip: '127.0.0.2' })).toEqual([])
  const now = backend.clock.now()
  const [before, after] = [
    new Date(now - 3600_000).toISOString(),
    new Date(now + 1000).toISOString(),
  ]
  expect((await actions({ since: before, until: after })).length).toBeGreaterThan(5)
  expect(await actions({ since: after })).toEqual([])
  expect(await actions({ until: before })).toEqual([])
  for (const query of [{ about: 'nothing' }, { since: 'yesterday' }, { result: 'maybe' }])
    expect(await admin.call(auditList, { query: query as object })).toMatchObject({
      status: 400,
      problem: { code: 'bad_request' },
    })
})

test('an export has the matching entries, oldest first, and is itself audited', async () => {
  const backend = await withEntries()
  const admin = await backend.signIn()
  await backend.publish()
  const csv = await admin.call(auditCsv, { query: { about: 'datacenter' } })
  expect(csv.headers).toMatchObject({
    'content-type': 'text/csv; charset=utf-8',
    'content-disposition': 'attachment; filename="audit.csv"',
  })
  const [head, ...rows] = parseCsv(csv.text).records.map(({ cells }) => cells)
  expect(head).toEqual(auditCsvColumns)
  const at = (name: (typeof auditCsvColumns)[number]) => auditCsvColumns.indexOf(name)
  expect(rows.map((row) => row[at('target_name')])).toEqual([
    'PL-POZ-1',
    'PL-POZ-2',
    'PL-POZ-3',
    'PL-POZ-4',
    'PL-POZ-5',
  ])
  expect(JSON.parse(rows[0]![at('after')]!)).toMatchObject({ code: 'PL-POZ-1' })
  const lines = (await admin.call(auditNdjson)).text.trim().split('\n')
  const entries = lines.map((line) => JSON.parse(line) as AuditEntry)
  expect(entries.map((e) => e.seq)).toEqual(entries.map((_, i) => i + 1))
  const listed = (await admin.call(auditList, { query: { sort: 'seq', per_page: 3 } })).answer!
  expect(entries.slice(0, 3).map((e) => ({ ...e, shortened: false }))).toEqual(listed.items)
  await backend.publish()
  const exported = (await admin.call(auditList, { query: { action: 'audit.exported' } })).answer!
  expect(exported.items.map((e) => e.after)).toEqual([
    { format: 'ndjson' },
    { format: 'csv', about: 'datacenter' },
  ])
})

test('an export that ends with its session is cut off, so that a part is not taken for the whole', async () => {
  const backend = await withEntries()
  const admin = await backend.signIn()
  await backend.publish()
  // Several batches, and more than the buffers of the sockets.
  await sql`insert into audit_entry select (jsonb_populate_record(e, jsonb_build_object(
      'seq', n, 'after', jsonb_build_object('text', repeat('x', 10000))
    ))).* from audit_entry e, generate_series(1001, 5000) n where seq = 7`.execute(
    backend.platform.db,
  )
  const response = await fetch((await backend.listen()) + auditNdjson.path, {
    headers: { authorization: `Bearer ${admin.accessToken}` },
  })
  expect(response.status).toBe(200)
  const reader = response.body!.getReader()
  expect((await reader.read()).done).toBe(false)
  const ended = await admin.call(authorizeLogout, { body: { refresh_token: admin.refreshToken } })
  expect(ended.status).toBe(204)
  const readOn = async () => {
    while (!(await reader.read()).done);
  }
  await expect(readOn()).rejects.toThrow('terminated')
})

const checksOf = (text: string) =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as AuditCheck)

test('verification over the API tells its progress and ends with the verdict', async () => {
  const backend = await withEntries()
  const admin = await backend.signIn()
  await backend.publish()
  const checks = checksOf((await admin.call(auditVerify)).text)
  expect(checks[0]).toEqual({ state: 'checking', checked: 0, of: 9 })
  const verdict = checks.at(-1)!
  expect(verdict).toEqual({
    state: 'intact',
    entries: 9,
    unkeyed: 0,
    head: expect.stringMatching(/^[0-9a-f]{64}@9$/) as string,
  })
  const { head } = verdict as { head: string }
  expect(checksOf((await admin.call(auditVerify, { query: { head } })).text).at(-1)).toEqual(
    verdict,
  )
  const noted = await admin.call(auditVerify, { query: { head: `${'0'.repeat(64)}@3` } })
  expect(checksOf(noted.text).at(-1)).toMatchObject({
    state: 'broken',
    seq: 3,
    reason: expect.stringContaining('another hash') as string,
  })
  expect((await admin.call(auditVerify, { query: { head: 'latest' } })).status).toBe(400)
  await behindTheTrigger(
    backend,
    sql`update audit_entry set actor_name = 'somebody else' where seq = 4`,
  )
  expect(checksOf((await admin.call(auditVerify)).text).at(-1)).toEqual({
    state: 'broken',
    seq: 4,
    reason: 'was changed',
  })
  const { db } = backend.platform
  const { chain_sealed: own } = await db
    .selectFrom('publication')
    .select('chain_sealed')
    .executeTakeFirstOrThrow()
  await db.updateTable('publication').set({ chain_sealed: own!.toReversed() }).execute()
  expect(checksOf((await admin.call(auditVerify)).text).at(-1)).toMatchObject({
    seq: 1,
    reason: expect.stringContaining('key of the chain') as string,
  })
})

test('of several verifications at once, those beyond the limit are asked to try later', async () => {
  const backend = await withEntries()
  const admin = await backend.signIn()
  const statuses = (
    await Promise.all(Array.from({ length: 4 }, () => admin.call(auditVerify)))
  ).map(({ status }) => status)
  expect(statuses.toSorted((a, b) => a - b)).toEqual([200, 200, 429, 429])
  expect((await admin.call(auditVerify)).status).toBe(200)
})

test('the hash chain of the audit log is valid after concurrent writes', async () => {
  const backend = await withEntries()
  const admin = await backend.signIn()
  await Promise.all(Array.from({ length: 20 }, () => admin.call(datacenterCreate, { body: place })))
  await backend.publish()
  const verdict = await backend.domains.audit.verify()
  expect(verdict).toMatchObject({ ok: true })
  expect((verdict as { entries: number }).entries).toBeGreaterThan(25)
})

test("entries can't be changed or removed by SQL", async () => {
  const { db } = (await withEntries()).platform
  await expect(
    db.updateTable('audit_entry').set({ actor_name: 'somebody else' }).execute(),
  ).rejects.toThrow('append-only')
  await expect(db.deleteFrom('audit_entry').where('seq', '=', 1).execute()).rejects.toThrow(
    'append-only',
  )
  await expect(sql`truncate audit_entry`.execute(db)).rejects.toThrow('append-only')
})

/** Runs a statement with the triggers disabled, as the owner of the database could. */
const behindTheTrigger = ({ platform }: Backend, change: ReturnType<typeof sql>) =>
  inTransaction(platform.db, async (tx) => {
    await sql`alter table audit_entry disable trigger all`.execute(tx)
    await change.execute(tx)
    await sql`alter table audit_entry enable trigger all`.execute(tx)
  })

test.each([
  ['edited', sql`update audit_entry set actor_name = 'somebody else' where seq = 4`, 4],
  ['removed', sql`delete from audit_entry where seq = 4`, 4],
  [
    'removed at the end',
    sql`delete from audit_entry where seq = (select max(seq) from audit_entry)`,
    7,
  ],
  [
    'put in another order',
    sql`update audit_entry set seq = case seq when 4 then 1005 else 1004 end where seq in (4, 5)`,
    4,
  ],
  [
    'added at the end',
    sql`insert into audit_entry select (jsonb_populate_record(e, '{"seq": 8}')).* from audit_entry e where seq = 7`,
    8,
  ],
  [
    'edited, with a new hash',
    sql`update audit_entry set actor_name = 'x', hash = repeat('0', 64) where seq = 4`,
    4,
  ],
])('verification reports the number of an entry that was %s', async (_how, change, seq) => {
  const backend = await withEntries()
  expect(await backend.domains.audit.verify()).toMatchObject({ ok: true, entries: 7, unkeyed: 0 })
  await behindTheTrigger(backend, change)
  expect(await backend.domains.audit.verify()).toMatchObject({ ok: false, seq })
})

/**
 * Recomputes the hashes of all entries from `first` on, as an attacker with the database but
 * without the key could.
 */
async function hashAnew({ platform }: Backend, first: number) {
  const rows = await platform.db.selectFrom('audit_entry').selectAll().orderBy('seq').execute()
  let previous = rows[first - 2]?.hash ?? ''
  for (const { seq, hash: _hash, previous_hash: _previous, at, ...rest } of rows.slice(first - 1)) {
    const hash = unkeyedHash(previous, seq, { ...rest, at: at.toISOString() })
    await sql`update audit_entry set previous_hash = ${previous}, hash = ${hash} where seq = ${seq}`.execute(
      platform.db,
    )
    previous = hash
  }
  await platform.db.updateTable('publication').set({ last_hash: previous }).execute()
}

async function rewritten(backend: Backend, first: number) {
  await sql`alter table audit_entry disable trigger all`.execute(backend.platform.db)
  await sql`update audit_entry set actor_name = 'somebody else' where seq = ${first}`.execute(
    backend.platform.db,
  )
  await hashAnew(backend, first)
  await sql`alter table audit_entry enable trigger all`.execute(backend.platform.db)
}

test('verification detects a hash chain that was rewritten without the key, even if the key was removed or replaced', async () => {
  const backend = await withEntries()
  const { db } = backend.platform
  const { chain_sealed: own } = await db
    .selectFrom('publication')
    .select('chain_sealed')
    .executeTakeFirstOrThrow()
  await rewritten(backend, 4)
  expect(await backend.domains.audit.verify()).toMatchObject({ ok: false, seq: 4 })
  const other = await withEntries()
  const { chain_sealed: foreign } = await other.platform.db
    .selectFrom('publication')
    .select('chain_sealed')
    .executeTakeFirstOrThrow()
  await db.updateTable('publication').set({ chain_sealed: foreign }).execute()
  expect(await backend.domains.audit.verify()).toMatchObject({
    ok: false,
    seq: 1,
    reason: expect.stringContaining('key of the chain') as string,
  })
  await db.updateTable('publication').set({ chain_sealed: own }).execute()
  expect(await backend.domains.audit.verify()).toMatchObject({ ok: false, seq: 4 })
})

test("entries from before the key was introduced stay verifiable, and can't be rewritten or moved undetected", async () => {
  const backend = await withEntries()
  const { db } = backend.platform
  // The state left behind by an older version.
  await sql`alter table audit_entry disable trigger all`.execute(db)
  await hashAnew(backend, 1)
  await sql`alter table audit_entry enable trigger all`.execute(db)
  await db.updateTable('publication').set({ chain_sealed: null }).execute()
  expect(await backend.domains.audit.verify()).toMatchObject({ ok: true, entries: 7, unkeyed: 7 })
  const admin = await backend.signIn()
  await admin.call(datacenterCreate, { body: place })
  await backend.publish()
  expect(await backend.domains.audit.verify()).toMatchObject({ ok: true, unkeyed: 7 })
  const { answer } = await admin.call(auditList, { query: { action: 'audit.keyed' } })
  expect(answer!.items).toMatchObject([{ seq: 8, after: { unkeyed_entries: 7 } }])
  await rewritten(backend, 3)
  expect(await backend.domains.audit.verify()).toMatchObject({ ok: false, seq: 7 })
})

test('after the key was removed, the next write adds an audit entry about a new key, and verification fails', async () => {
  const backend = await withEntries()
  const { db } = backend.platform
  await db.updateTable('publication').set({ chain_sealed: null }).execute()
  const admin = await backend.signIn()
  await backend.publish()
  expect(
    (await admin.call(auditList, { query: { action: 'audit.keyed' } })).answer!.items,
  ).toHaveLength(1)
  expect(await backend.domains.audit.verify()).toMatchObject({ ok: false, seq: 1 })
})

test('a truncated audit log is detected by comparing its head hash with one noted elsewhere', async () => {
  const backend = await withEntries()
  const { audit } = backend.domains
  const { db } = backend.platform
  const rows = await db.selectFrom('audit_entry').select(['seq', 'hash']).orderBy('seq').execute()
  const [fifth, seventh] = [rows[4]!, rows[6]!]
  expect(await audit.verify(fifth)).toMatchObject({ ok: true, head: seventh })
  expect(await audit.verify({ seq: 5, hash: 'f'.repeat(64) })).toMatchObject({ ok: false, seq: 5 })
  await behindTheTrigger(backend, sql`delete from audit_entry where seq > 5`)
  await db.updateTable('publication').set({ last_audit: 5, last_hash: fifth.hash }).execute()
  expect(await audit.verify()).toMatchObject({ ok: true, entries: 5 })
  expect(await audit.verify(seventh)).toMatchObject({
    ok: false,
    seq: 6,
    reason: expect.stringContaining('entry 7') as string,
  })
})

test('after a key rotation in the key file, all entries are still verifiable', async () => {
  const backend = await withEntries()
  const { database, config } = backend
  const ring = await addKey(config.keyFile)
  await vault({ keys: ring, escrowFolder: config.dataFolder }).rotate(database.db)
  const lines = readFileSync(config.keyFile, 'utf8').trim().split('\n')
  writeFileSync(config.keyFile, `${lines.at(-1)!}\n`)
  const keys = await readKeyFile(config.keyFile)
  expect(keys.current.id).toBe(ring.current.id)
  const verdict = await verifyAudit({
    db: database.db,
    vault: vault({ keys, escrowFolder: config.dataFolder }),
  })
  expect(verdict).toMatchObject({ ok: true, entries: 7, unkeyed: 0 })
})

test('the events of an object are readable sentences', async () => {
  const backend = await startBackend()
  const admin = await backend.signIn()
  const { answer } = await admin.call(datacenterCreate, { body: place })
  const refused = {
    action: 'server.renamed',
    target: { kind: 'server', id: answer!.id },
    after: { name: 'web' },
    result: 'forbidden',
  } as const
  await inTransaction(backend.platform.db, (tx) => backend.platform.record(tx, system, refused))
  await backend.publish()
  expect(await backend.domains.audit.events({ kind: 'server', id: answer!.id }, 10)).toEqual([
    {
      id: expect.stringMatching(/^audit-\d+$/),
      at: expect.any(String),
      type: 'server.renamed',
      message: 'Renamed to web: refused (forbidden)',
      by: 'Steelyard',
      operation_id: null,
    },
  ])
  expect(
    await backend.domains.audit.events({ kind: 'datacenter', id: answer!.id }, 10),
  ).toMatchObject([{ type: 'datacenter.created', by: admin.email }])
})
