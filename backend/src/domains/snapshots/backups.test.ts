import { randomUUID } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, expect, test } from 'vitest'
import {
  backupCreate,
  backupGet,
  backupList,
  backupRemove,
  backupScheduleGet,
  backupScheduleRemove,
  backupScheduleSet,
  backupVerify,
} from '#contract/storage/backups.ts'
import { snapshotList } from '#contract/clusters/changes/snapshots.ts'
import { backupCondition, backupsSaid } from './api.ts'
import { storeCreate } from '#contract/storage/stores.ts'
import { inTransaction } from '../../db/db.ts'
import type { Job } from '../../engine/engine.ts'
import { type ObjectStore, StoreError } from '../stores/api.ts'
import { makeBackup } from './own-backup.ts'
import type { SnapshotRow } from './store.ts'
import { check } from '../../backup/write.ts'
import { startBackend } from '../../testing/backend.ts'
import { temporaryFolder } from '../../testing/folder.ts'

const folder = temporaryFolder('backups')
const passphraseFile = path.join(folder, 'passphrase')
const stores = path.join(folder, 'stores')
mkdirSync(stores)
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const backend = await startBackend({
  environment: {
    STEELYARD_STORE_FOLDERS: stores,
    STEELYARD_BACKUP_PASSPHRASE_FILE: passphraseFile,
  },
})
const admin = await backend.signIn()
const disk = path.join(stores, 'disk')
const { answer: store } = await admin.call(storeCreate, {
  body: { name: 'disk', kind: 'folder', folder: disk },
})
const body = { store_id: store!.id }
const list = async () => (await admin.call(backupList)).answer!.items

test('a backup needs a passphrase that is long enough and in a file that only its owner can read', async () => {
  expect((await admin.call(backupCreate, { body })).problem).toMatchObject({
    code: 'transition_refused',
    error: expect.stringContaining(passphraseFile) as string,
  })
  writeFileSync(passphraseFile, 'short\n', { mode: 0o600 })
  expect((await admin.call(backupCreate, { body })).problem?.error).toContain('needs 12 or more')
  writeFileSync(passphraseFile, 'twelve or more characters\n', { mode: 0o600 })
})

test('a backup is written to the store and read back, restore can read it, and it is not listed as a snapshot', async () => {
  const { answer: begun } = await admin.call(backupCreate, { body })
  expect(begun).toMatchObject({ status: 'taking', store: { name: 'disk' } })
  await backend.engine.settle()
  const { answer: ready } = await admin.call(backupGet, { params: { id: begun!.id } })
  expect(ready).toMatchObject({
    status: 'ready',
    verified_at: expect.any(String) as string,
    size_bytes: readFileSync(path.join(disk, ready!.key)).length,
  })
  const contents = await check(path.join(disk, ready!.key), 'twelve or more characters')
  expect(contents.files.map((f) => f.kind)).toEqual(['key'])
  const verify = () => admin.call(backupVerify, { params: { id: ready!.id } })
  expect((await verify()).answer).toMatchObject({ status: 'ready' })
  writeFileSync(passphraseFile, 'another passphrase of today\n', { mode: 0o600 })
  expect((await verify()).problem).toMatchObject({
    code: 'transition_refused',
    error: expect.stringContaining('has changed since this backup') as string,
  })
  writeFileSync(passphraseFile, 'twelve or more characters\n', { mode: 0o600 })
  const whole = readFileSync(path.join(disk, ready!.key))
  writeFileSync(path.join(disk, ready!.key), whole.subarray(0, -1))
  expect((await verify()).answer).toMatchObject({
    status: 'failed',
    reason: expect.stringContaining('The backup is cut off') as string,
  })
  expect((await verify()).answer).toMatchObject({ status: 'failed' })
  writeFileSync(path.join(disk, ready!.key), whole)
  expect((await verify()).answer).toMatchObject({ status: 'ready', reason: null })
  expect((await admin.call(snapshotList)).answer!.items).toEqual([])
  const operator = await backend.signIn({ role: 'operator' })
  expect((await operator.call(backupList)).problem?.code).toBe('forbidden')
  await admin.call(backupRemove, { params: { id: ready!.id } })
  await backend.engine.settle()
  expect(await list()).toEqual([])
})

test('a backup whose store fails midway ends, and leaves no connection in the middle of a COPY', async () => {
  const { platform, domains } = backend
  writeFileSync(passphraseFile, 'twelve or more characters\n', { mode: 0o600 })
  await platform.pool.query(
    // The first table by name. 2 MB are more than the buffers on the way hold.
    `create table a_filler as select repeat(md5(n::text), 1000) as text from generate_series(1, 64) n`,
  )
  const parts = { ...platform, clusters: domains.clusters, stores: domains.stores }
  const { signal } = new AbortController()
  const job = { signal, effect: (_: string, act: () => Promise<unknown>) => act() } as Job
  const row = { id: randomUUID() } as SnapshotRow
  const attempt = (put: ObjectStore['put']) =>
    makeBackup(parts, job, row, { put } as ObjectStore, 'key')
  await expect(
    attempt(async (_, source) => {
      let bytes = 0
      for await (const piece of source)
        if ((bytes += piece.byteLength) > 100_000) throw new StoreError('The store failed')
      return bytes
    }),
  ).rejects.toThrow('The store failed')
  await expect(attempt(() => Promise.reject(new StoreError('It refuses')))).rejects.toThrow(
    'It refuses',
  )
  const answers = await Promise.all(
    Array.from({ length: 16 }, () => platform.pool.query<{ one: number }>('select 1 as one')),
  )
  expect(answers.map(({ rows }) => rows[0]?.one)).toEqual(Array.from({ length: 16 }, () => 1))
  await platform.pool.query('drop table a_filler')
})

test('what is said of the backups names the newest, a failure, and a schedule that is late or paused', async () => {
  const said = async (atMs = backend.clock.now()) =>
    backupsSaid(await backupCondition(backend.platform.db), atMs)
  expect(await said()).toBeNull()
  await admin.call(backupCreate, { body })
  await backend.engine.settle()
  const [ready] = await list()
  const minute = ready!.taken_at!.slice(0, 16).replace('T', ' ')
  const newest = `The newest backup in a store is of ${minute} UTC`
  expect(await said()).toEqual({ isWell: true, text: `${newest}. No schedule takes backups` })
  const metric = async () => (await backend.app.inject({ url: '/metrics' })).body
  expect(await metric()).toContain(
    `\nsteelyard_backup_timestamp_seconds ${Date.parse(ready!.taken_at!) / 1000}\n`,
  )
  expect(await metric()).toContain('\nsteelyard_backups_failing 0\n')
  const wish = { ...body, every_hours: 24 as const, at_hour: 3, keep_count: 9, keep_days: null }
  await admin.call(backupScheduleSet, { body: wish })
  expect(await said()).toEqual({ isWell: true, text: newest })
  expect(await said(backend.clock.now() + 50 * 3_600_000)).toEqual({
    isWell: false,
    text: `${newest}. The schedule should have taken newer ones`,
  })
  await admin.call(backupScheduleSet, { body: { ...wish, paused: true } })
  expect(await said()).toEqual({ isWell: false, text: `${newest}. The schedule is paused` })
  await admin.call(backupScheduleRemove)
  backend.clock.advance(1_000)
  const { answer: second } = await admin.call(backupCreate, { body })
  await backend.engine.settle()
  const { answer: file } = await admin.call(backupGet, { params: { id: second!.id } })
  writeFileSync(path.join(disk, file!.key), 'something else')
  await admin.call(backupVerify, { params: { id: second!.id } })
  expect(await said()).toEqual({
    isWell: false,
    text: expect.stringContaining(`${newest}. The last one failed: `) as string,
  })
  expect(await metric()).toContain('\nsteelyard_backups_failing 1\n')
  for (const { id } of await list()) await admin.call(backupRemove, { params: { id } })
  await backend.engine.settle()
  expect(await said()).toBeNull()
})

/** The schedule takes a backup, which is late by three days. */
async function afterThreeDays(): Promise<void> {
  await backend.platform.pool.query(
    `update snapshot_schedule set begun_for = begun_for - interval '3 days'`,
  )
  backend.clock.advance(1_000)
  await inTransaction(backend.platform.db, (tx) =>
    backend.platform.engine.wake(tx, 'snapshot-schedule', 'installation'),
  )
  await backend.engine.settle()
}

test('the schedule takes one backup for all missed times, and removes the backups that it no longer keeps', async () => {
  const wish = { ...body, every_hours: 24 as const, at_hour: 3, keep_count: 1, keep_days: null }
  expect((await admin.call(backupScheduleSet, { body: wish })).answer).toMatchObject({
    every_hours: 24,
    keep_count: 1,
    problem: null,
  })
  await afterThreeDays()
  await afterThreeDays()
  const [only, ...more] = await list()
  expect([only!.status, only!.made_by, more.length]).toEqual(['ready', 'schedule', 0])
  expect((await admin.call(backupScheduleGet)).answer!.schedule).toMatchObject({
    last_ready_at: only!.taken_at,
  })
  expect((await admin.call(backupScheduleRemove)).status).toBe(204)
})

test('a restored Steelyard removes no backup before all clusters are resumed', async () => {
  const { db } = backend.platform
  const before = (await list()).length
  const [subject, id] = [randomUUID(), randomUUID()]
  await db.insertInto('hold').values({ subject, kind: 'cluster', id }).execute()
  const wish = { ...body, every_hours: 24 as const, at_hour: 3, keep_count: 1, keep_days: null }
  await admin.call(backupScheduleSet, { body: wish })
  await afterThreeDays()
  await afterThreeDays()
  expect(await list()).toHaveLength(before + 2)
  await db.deleteFrom('hold').execute()
  await afterThreeDays()
  expect(await list()).toHaveLength(1)
  expect((await admin.call(backupScheduleRemove)).status).toBe(204)
})
