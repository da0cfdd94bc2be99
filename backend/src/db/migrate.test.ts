import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { Pool } from 'pg'
import { expect, test } from 'vitest'
import { freshDatabase } from '../testing/databases.ts'
import { whenOver } from '../testing/ending.ts'
import { temporaryFolder } from '../testing/folder.ts'
import { migrate, type Migration, MigrationRefused, readMigrations } from './migrate.ts'

/** A pool of connections to a new database that already has the schema. */
async function freshPool() {
  const pool = new Pool({ ...(await freshDatabase()), max: 4 })
  // Ignores errors of closing connections whose database was dropped. Either the connection or the
  // pool emits them.
  pool.on('connect', (client) => client.on('error', () => undefined))
  pool.on('error', () => undefined)
  whenOver(() => pool.end())
  return pool
}
const extra = (number: number, sql: string): Migration => ({
  number,
  name: 'extra',
  sql,
  checksum: sql,
})

test('the migration files are numbered without a gap', async () => {
  const folder = temporaryFolder('migrations')
  await writeFile(path.join(folder, '0001_first.sql'), 'select 1')
  await writeFile(path.join(folder, '0003_third.sql'), 'select 1')
  await expect(readMigrations(folder)).rejects.toThrow(
    'Migration 3 (third) is in the place of number 2',
  )
  await writeFile(path.join(folder, 'second.sql'), 'select 1')
  await expect(readMigrations(folder)).rejects.toThrow('is not named like')
})

test('a second migration does nothing; two concurrent migrations run each file once', async () => {
  const pool = await freshPool()
  const known = await readMigrations()
  expect(await migrate(pool, known)).toEqual([])
  const next = [...known, extra(known.length + 1, 'create table extra (id integer)')]
  const both = await Promise.all([migrate(pool, next), migrate(pool, next)])
  expect(both.flat()).toEqual([known.length + 1])
})

test('a failing migration file is rolled back, and the files before it stay applied', async () => {
  const pool = await freshPool()
  const known = await readMigrations()
  const n = known.length
  const broken = [
    ...known,
    extra(n + 1, 'create table good (id integer)'),
    extra(n + 2, 'create table half (id integer); select * from nowhere'),
  ]
  await expect(migrate(pool, broken)).rejects.toThrow('nowhere')
  const { rows } = await pool.query(
    `select to_regclass('good') is not null as good, to_regclass('half') is not null as half`,
  )
  expect(rows).toEqual([{ good: true, half: false }])
  expect(
    await migrate(pool, [
      ...broken.slice(0, n + 1),
      extra(n + 2, 'create table half (id integer)'),
    ]),
  ).toEqual([n + 2])
})

test('a database is refused if its schema is newer than the program or its applied migration files have changed', async () => {
  const pool = await freshPool()
  const known = await readMigrations()
  await expect(migrate(pool, known.slice(0, -1))).rejects.toThrow(MigrationRefused)
  await expect(migrate(pool, known.slice(0, -1))).rejects.toThrow(/start a newer Steelyard/)
  const changed = [{ ...known[0]!, checksum: 'another' }, ...known.slice(1)]
  await expect(migrate(pool, changed)).rejects.toThrow(
    'Migration 1 (platform) differs from the one that created this database',
  )
})

test('the migration that removes the pgboss schema keeps the rows of wake_up', async () => {
  const pool = await freshPool()
  const known = await readMigrations()
  await pool.query('drop schema public cascade; create schema public')
  await migrate(pool, known.slice(0, 20))
  await pool.query(`create schema pgboss; create table pgboss.job (id uuid); insert into pgboss.job values (gen_random_uuid());
    insert into wake_up (queue, key, fence, due_at, owner, job_id) values ('cluster', 'due', 3, '2026-01-01', null, null), ('cluster', 'held', 5, null, 'killed', gen_random_uuid())`)
  await migrate(pool, known)
  expect(
    (
      await pool.query(
        'select key, fence::int, due_at is not null as due, owner from wake_up order by key',
      )
    ).rows,
  ).toEqual([
    { key: 'due', fence: 3, due: true, owner: null },
    { key: 'held', fence: 5, due: false, owner: 'killed' },
  ])
  expect((await pool.query(`select to_regnamespace('pgboss') as gone`)).rows).toEqual([
    { gone: null },
  ])
})

test('unfinished operations of an older version keep their arguments', async () => {
  const pool = await freshPool()
  const known = await readMigrations()
  await pool.query('drop schema public cascade; create schema public')
  await migrate(pool, known.slice(0, 21))
  const begun = async (kind: string) =>
    (
      await pool.query<{ id: string }>(
        `insert into operation (kind, target_kind, target_name, status, queue, queue_key, created_by_name, created_at)
         values ($1, 'server', 'x', 'running', 'q', gen_random_uuid(), 'ops', now()) returning id`,
        [kind],
      )
    ).rows[0]!.id
  const [scan, reset, reboot] = [
    await begun('serverAdd'),
    await begun('serverReset'),
    await begun('serverReboot'),
  ]
  await pool.query(
    'insert into server_addition (key, operation_id, scan) values (gen_random_uuid(), $1, true)',
    [scan],
  )
  await pool.query(
    `insert into cluster (name, talos_version, kubernetes_version, endpoint, virtual_ip, pod_cidr, service_cidr, chain_address, created_at, updated_at, deleted_at)
     values ('web', 'v1.13.9', '1.36.3', 'https://10.0.0.1:6443', false, '10.244.0.0/16', '10.96.0.0/12', '0x', now(), now(), now())`,
  )
  await pool.query(
    `insert into cluster_server (cluster_id, node_id, role, position, name, install_disk, install_image, workload_disks, at_since, operation_id, keep_workload_disks)
     select id, gen_random_uuid(), 'worker', 0, 'x', '/dev/sda', 'i', '{}', now(), $1, true from cluster`,
    [reset],
  )
  await migrate(pool, known)
  const { rows } = await pool.query('select id, arguments from operation')
  expect(new Map(rows.map((r: { id: string; arguments: unknown }) => [r.id, r.arguments]))).toEqual(
    new Map<string, unknown>([
      [scan, { datacenter_id: null, scan: true }],
      [reset, { keep_workload_disks: true }],
      [reboot, {}],
    ]),
  )
})
