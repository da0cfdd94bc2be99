import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { clusterList } from '#contract/clusters/clusters.ts'
import {
  type Snapshot,
  snapshotGet,
  snapshotImport,
  snapshotList,
  snapshotRemove,
  type SnapshotSchedule,
  snapshotScheduleGet,
  snapshotScheduleSet,
  snapshotVerify,
} from '#contract/clusters/changes/snapshots.ts'
import {
  type Backup,
  backupCreate,
  backupGet,
  backupRemove,
  backupScheduleGet,
  backupScheduleRemove,
  backupScheduleSet,
  backupVerify,
} from '#contract/storage/backups.ts'
import {
  type Store,
  storeCreate,
  storeList,
  storeRemove,
  storeTest,
  storeUpdate,
} from '#contract/storage/stores.ts'
import { startApi } from '../../testing/api.ts'
import { startCli } from '../../testing/cli.ts'
import { aCluster, id, pageOf } from '../../testing/things.ts'

const at = '2026-11-20T08:00:00.000Z'
const changed = { version: 3, created_at: at, updated_at: at }
const offsite: Store = {
  id: id(1),
  name: 'offsite',
  kind: 's3',
  folder: null,
  endpoint: 'https://s3.example.com',
  region: 'us-east-1',
  bucket: 'steelyard',
  prefix: '',
  path_style: true,
  access_key_id: 'AKIA0',
  verified_at: at,
  problem: null,
  problem_since: null,
  ...changed,
}
const file = {
  store: { id: id(1), name: 'offsite' },
  key: 'x',
  reason: null,
  created_by: null,
  taken_at: at,
  size_bytes: 9,
  verified_at: at,
  ...changed,
}
const backup: Backup = { id: id(2), status: 'ready', made_by: 'request', ...file }
const snapshot: Snapshot = {
  id: id(4),
  status: 'ready',
  made_by: 'request',
  cluster: { id: id(3), name: 'web' },
  purpose: null,
  taken_from: 'cp-1',
  etcd_version: '3.6.12',
  revision: 7,
  identity: null,
  sha256: null,
  ...file,
}
const schedule: SnapshotSchedule = {
  store: file.store,
  every_hours: 24,
  at_hour: 2,
  keep_count: 14,
  keep_days: null,
  paused: false,
  next_at: at,
  last_ready_at: null,
  problem: null,
  ...changed,
}

async function ready() {
  const api = await startApi()
  api.on(storeList, () => pageOf([offsite]))
  api.on(clusterList, () => pageOf([aCluster({ id: id(3), name: 'web' })]))
  api.on(storeCreate, () => offsite)
  api.on(storeUpdate, () => offsite)
  api.on(storeRemove, () => undefined)
  api.on(snapshotList, () => pageOf([snapshot]))
  api.on(snapshotGet, () => snapshot)
  api.on(snapshotRemove, () => undefined)
  api.on(snapshotImport, () => ({ ...snapshot, status: 'taking' as const }))
  api.on(snapshotScheduleGet, () => ({ schedule }))
  api.on(snapshotScheduleSet, () => schedule)
  api.on(backupGet, () => backup)
  api.on(backupCreate, () => ({ ...backup, status: 'taking' as const }))
  api.on(backupRemove, () => undefined)
  api.on(backupScheduleGet, () => ({ schedule: null }))
  api.on(backupScheduleSet, () => schedule)
  api.on(backupScheduleRemove, () => undefined)
  return { api, cli: await startCli(api) }
}

test('a store is added, edited, tested and removed; its secret comes from a file and is never printed', async () => {
  const { api, cli } = await ready()
  const secret = join(cli.folder, 'key')
  await writeFile(secret, 'very secret\n')
  const place = '--endpoint https://s3.example.com --bucket steelyard'
  const added = await cli.run(
    `store add offsite ${place} --access-key AKIA0 --secret-file ${secret}`,
  )
  const edited = await cli.run(
    `store edit offsite --endpoint https://s3.example.org --host-style --access-key AKIA1 --secret-file ${secret}`,
  )
  expect([added.exit, edited.exit]).toEqual([0, 0])
  expect(api.callsOf(storeCreate)).toMatchObject([
    {
      body: { kind: 's3', region: 'us-east-1', path_style: true, secret_access_key: 'very secret' },
    },
  ])
  expect(api.callsOf(storeUpdate)).toMatchObject([
    {
      body: {
        endpoint: 'https://s3.example.org',
        path_style: false,
        access_key_id: 'AKIA1',
        secret_access_key: 'very secret',
      },
    },
  ])
  expect(added.out + added.err + edited.out + edited.err).not.toContain('very secret')
  api.on(storeTest, () => ({
    ok: false,
    problem: 'The store refuses: there is no such bucket',
    took_ms: 4,
  }))
  expect(await cli.run('store test offsite')).toMatchObject({
    exit: 1,
    out: expect.stringContaining('there is no such bucket') as string,
  })
  expect(await cli.run('store remove offsite')).toMatchObject({
    exit: 0,
    out: 'offsite is removed; files in it stay\n',
  })
  for (const wrong of [
    'store add x',
    'store edit offsite',
    'store edit offsite --host-style --path-style',
  ])
    expect(await cli.run(wrong)).toMatchObject({ exit: 2 })
})

test('a snapshot is imported, verified and removed; a damaged one exits with 1', async () => {
  const { api, cli } = await ready()
  expect(await cli.run('snapshot import web --store offsite --file import/web.db')).toMatchObject({
    exit: 0,
  })
  expect(api.callsOf(snapshotImport)).toMatchObject([
    { params: { id: id(3) }, body: { store_id: id(1), file: 'import/web.db' } },
  ])
  expect(await cli.run('snapshot import web')).toMatchObject({ exit: 2 })
  api.on(snapshotVerify, () => ({
    ...snapshot,
    status: 'failed' as const,
    reason: 'The snapshot is cut off',
  }))
  expect(await cli.run(`snapshot verify ${id(4)}`)).toMatchObject({
    exit: 1,
    out: expect.stringContaining('cut off') as string,
  })
  expect(await cli.run(`snapshot remove ${id(4)} --yes`)).toMatchObject({ exit: 0 })
  expect(await cli.run(`snapshot show ${id(4)}`)).toMatchObject({
    exit: 0,
    out: expect.stringContaining('3.6.12') as string,
  })
})

test('a changed schedule keeps what the options leave out', async () => {
  const { api, cli } = await ready()
  expect(await cli.run('snapshot plan web --every 6 --any-age --pause')).toMatchObject({ exit: 0 })
  expect(api.callsOf(snapshotScheduleSet)).toMatchObject([
    {
      headers: { 'if-match': '"3"' },
      body: {
        store_id: id(1),
        every_hours: 6,
        at_hour: 2,
        keep_count: 14,
        keep_days: null,
        paused: true,
      },
    },
  ])
  expect(await cli.run('snapshot schedule web')).toMatchObject({
    exit: 0,
    out: expect.stringContaining('every 24 h, from 02:00 UTC') as string,
  })
  expect(await cli.run('snapshot plan web --pause --resume')).toMatchObject({ exit: 2 })
})

test('a backup of Steelyard is taken, verified and removed, and follows a schedule', async () => {
  const { api, cli } = await ready()
  expect(await cli.run('backup take --store offsite')).toMatchObject({ exit: 0 })
  expect(api.callsOf(backupCreate)).toMatchObject([{ body: { store_id: id(1) } }])
  expect(await cli.run('backup take')).toMatchObject({ exit: 2 })
  api.on(backupVerify, () => backup)
  expect(await cli.run(`backup verify ${id(2)}`)).toMatchObject({
    exit: 0,
    out: 'The file was read back, opened and is right\n',
  })
  api.on(backupVerify, () => ({
    ...backup,
    status: 'failed' as const,
    reason: 'The backup is cut off',
  }))
  expect(await cli.run(`backup verify ${id(2)}`)).toMatchObject({ exit: 1 })
  expect(await cli.run(`backup remove ${id(2)} --yes`)).toMatchObject({ exit: 0 })
  expect(await cli.run('backup plan')).toMatchObject({ exit: 2 })
  expect(await cli.run('backup plan --store offsite --at 3')).toMatchObject({ exit: 0 })
  expect(api.callsOf(backupScheduleSet)).toMatchObject([
    { body: { store_id: id(1), every_hours: 24, at_hour: 3 } },
  ])
  expect(await cli.run('backup unplan')).toMatchObject({ exit: 0 })
  expect(await cli.run('backup schedule')).toMatchObject({ exit: 0, out: 'No schedule\n' })
})
