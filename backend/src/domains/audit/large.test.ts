import { Pool } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  auditCsv,
  type AuditEntry,
  auditGet,
  auditList,
  auditNdjson,
  auditVerify,
  mostRecordedBytes,
} from '#contract/audit.ts'
import { mostListBytes } from '#contract/list.ts'
import {
  templateCreate,
  templateGet,
  templateList,
  templateUpdate,
} from '#contract/templates/templates.ts'
import { longTests } from '../../../../tools/testing/length.ts'
import type { Connection } from '../../db/connection.ts'
import { migrate, readMigrations } from '../../db/migrate.ts'
import { type Backend, type SignedIn, startBackend } from '../../testing/backend.ts'
import { freshDatabase } from '../../testing/databases.ts'
import { type AuditFields, unkeyedHash } from '../events/api.ts'

const number = longTests ? 60 : 3
const body = (seed: number) =>
  Array.from(
    { length: 26_000 },
    (_, line) => `# line ${line} of ${seed}: "padding"${'x'.repeat(6)}\n`,
  ).join('')
/** A template of 2 MB, as an older version stored it. */
const definition = (seed: number) => {
  const role = (count: number) => ({
    count,
    needs: { disks: [] },
    install_disk: { prefer: 'smallest' },
    workload_disks: null,
    patch: { name: 'big', weight: 500, labels: {}, body: body(seed) },
  })
  return {
    notes: '',
    virtual_ip: false,
    vlan_id: null,
    pod_cidr: '10.244.0.0/16',
    service_cidr: '10.96.0.0/12',
    control_planes: role(3),
    workers: role(1),
    spread_over_racks: true,
    subnets: [],
    labels: {},
    maintenance_window: null,
    snapshots: null,
  }
}

/** Templates and audit entries in the form from before the migration of the excerpts. */
async function olderDatabase(): Promise<Connection> {
  const connection = await freshDatabase()
  const pool = new Pool({ ...connection, max: 1 })
  const all = await readMigrations()
  const before = all.findIndex(({ name }) => name === 'excerpts')
  await pool.query('drop schema public cascade; create schema public')
  await migrate(pool, all.slice(0, before))
  const at = new Date('2026-11-01T00:00:00.000Z')
  let hash = ''
  for (let seq = 1; seq <= number; seq++) {
    const fields = definition(seq)
    const id = `00000000-0000-4000-8000-${String(seq).padStart(12, '0')}`
    const name = `big-${seq}`
    await pool.query(
      'insert into template (id, name, definition, created_at, updated_at, created_by_name) values ($1, $2, $3, $4, $4, $5)',
      [id, name, JSON.stringify(fields), at, 'ada@example.com'],
    )
    const entry: AuditFields = {
      at: at.toISOString(),
      action: 'template.updated',
      outcome: 'ok',
      actor_kind: 'user',
      actor_id: null,
      actor_name: 'ada@example.com',
      session_id: null,
      ip: '127.0.0.1',
      request_id: null,
      target_kind: 'template',
      target_id: id,
      target_name: name,
      before: { name, revision: 1, ...fields },
      after: { name, revision: 2, ...fields },
    }
    const previous = hash
    hash = unkeyedHash(previous, seq, entry)
    await pool.query(
      `insert into audit_entry (seq, at, action, outcome, actor_kind, actor_name, ip, target_kind, target_id, target_name, before, after, previous_hash, hash)
       values ($1, $2, $3, 'ok', 'user', $4, '127.0.0.1', 'template', $5, $6, $7, $8, $9, $10)`,
      [
        seq,
        at,
        entry.action,
        entry.actor_name,
        id,
        name,
        JSON.stringify(entry.before),
        JSON.stringify(entry.after),
        previous,
        hash,
      ],
    )
  }
  await pool.query('update publication set last_audit = $1, last_hash = $2', [number, hash])
  await migrate(pool, all)
  await pool.end()
  return connection
}

let backend: Backend
let admin: SignedIn
beforeAll(async () => {
  backend = await startBackend({ connection: await olderDatabase() })
  admin = await backend.signIn()
  await backend.publish()
})
afterAll(() => backend.stop())

test('templates of 2 MB from an older version are listed by the beginnings of their patches', async () => {
  const { answer, text, status } = await admin.call(templateList, { query: { per_page: 50 } })
  expect(status).toBe(200)
  expect(answer!.total).toBe(number)
  expect(text.length).toBeLessThan(Math.min(number * 10_000, mostListBytes))
  const { patch } = answer!.items[0]!.control_planes
  const whole = await admin.call(templateGet, { params: { id: answer!.items[0]!.id } })
  const stored = whole.answer!.control_planes.patch!.body
  expect(patch!.body.bytes).toBe(Buffer.byteLength(stored))
  expect(patch!.body.start.length).toBeGreaterThan(3_000)
  expect(stored.startsWith(patch!.body.start)).toBe(true)
})

test('entries with large texts from an older version are listed, shown whole, exported and verified', async () => {
  const listed = await admin.call(auditList, { query: { sort: 'seq', per_page: 50 } })
  expect(listed.status).toBe(200)
  expect(listed.text.length).toBeLessThan(mostListBytes)
  const [first] = listed.answer!.items
  expect(first).toMatchObject({ shortened: true, after: { name: 'big-1', revision: 2 } })
  expect(JSON.stringify(first!.after).length).toBeLessThan(mostRecordedBytes)
  const whole = (await admin.call(auditGet, { params: { seq: 1 } })).answer!
  expect(whole.after).toEqual({ name: 'big-1', revision: 2, ...definition(1) })

  const ndjson = await admin.call(auditNdjson, { query: { action: 'template.updated' } })
  const lines = ndjson.text.trimEnd().split('\n')
  expect(lines).toHaveLength(number)
  expect((JSON.parse(lines[0]!) as AuditEntry).after).toEqual(whole.after)
  expect((await admin.call(auditCsv, { query: { action: 'template.updated' } })).status).toBe(200)

  const { text, status } = await admin.call(auditVerify)
  expect(status).toBe(200)
  expect(JSON.parse(text.trimEnd().split('\n').at(-1)!)).toMatchObject({
    state: 'intact',
    unkeyed: number,
  })
  expect(await backend.domains.audit.verify()).toMatchObject({ ok: true })
})

test('a new entry has the length, the digest and the beginning of a large text', async () => {
  const lines = Array.from({ length: 2_000 }, (_, n) => `    net.ipv4.number_${n}: "1"\n`)
  const patch = { name: 'big', body: `machine:\n  sysctls:\n${lines.join('')}` }
  const template = { name: 'new', control_planes: { count: 3, patch } }
  const made = await admin.call(templateCreate, { body: template })
  expect(made.status).toBe(201)
  const changed = await admin.call(
    templateUpdate,
    { params: { id: made.answer!.id }, body: { ...template, notes: 'changed' } },
    { ifMatch: made.answer!.version },
  )
  expect(changed.status).toBe(200)
  await backend.publish()
  const { answer } = await admin.call(auditList, { query: { target: made.answer!.id } })
  const [updated, created] = answer!.items
  const large = { patch: { body: { bytes: Buffer.byteLength(patch.body) } } }
  expect(created).toMatchObject({ shortened: false, after: { name: 'new', control_planes: large } })
  expect(updated).toMatchObject({ before: { control_planes: large }, after: { notes: 'changed' } })
  const row = await backend.platform.db
    .selectFrom('audit_entry')
    .select('after')
    .where('seq', '=', updated!.seq)
    .executeTakeFirstOrThrow()
  expect(JSON.stringify(row.after).length).toBeLessThan(mostRecordedBytes)
  expect(await backend.domains.audit.verify()).toMatchObject({ ok: true })
})
