import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { clusterChange } from '#contract/clusters/changes/changes.ts'
import {
  type Snapshot,
  snapshotDownload,
  snapshotGet,
  snapshotImport,
  snapshotList,
  snapshotRemove,
  snapshotScheduleGet,
  snapshotScheduleRemove,
  snapshotScheduleSet,
  snapshotVerify,
} from '#contract/clusters/changes/snapshots.ts'
import type { Cluster } from '#contract/clusters/clusters.ts'
import { storeCreate, storeGet, storeRemove } from '#contract/storage/stores.ts'
import { addFault, clearFaults } from '#simulator/src/machine/trouble.ts'
import { boltDatabase } from '#simulator/src/cluster/bolt.ts'
import { longTest } from '../../../../tools/testing/long-test.ts'
import { inTransaction } from '../../db/db.ts'
import { clusterWorld } from '../clusters/testing/world.ts'
import { s3Body, s3Service } from '../stores/testing/s3-service.ts'

const service = await s3Service()
const world = await clusterWorld({
  servers: 4,
  environment: { STEELYARD_STORE_NETWORKS: '127.0.0.0/8' },
})
const { admin, backend } = world
afterAll(() => service.stop())
afterEach(() => service.trouble(null))

/** The delays between the attempts. */
const pausesMs = [5_000, 30_000, 120_000]

let cluster: Cluster
let disk: string
let bucket: string
const folder = path.join(backend.config.dataFolder, 'stores/disk')
const nodes = world.take(4)
beforeAll(async () => {
  const created = await world.create(nodes)
  disk = (await admin.call(storeCreate, { body: { name: 'disk', kind: 'folder', folder } })).answer!
    .id
  bucket = (await admin.call(storeCreate, { body: s3Body(service) })).answer!.id
  await world.ended(created.operation.id)
  cluster = created.cluster
}, 600_000)

const get = async (id: string): Promise<Snapshot> =>
  (await admin.call(snapshotGet, { params: { id } })).answer!
const settled = (id: string) =>
  world.until(
    () => get(id),
    (s) => s.status !== 'taking',
  )
/** Takes a snapshot and returns it, ready or failed. */
const take = async (store_id: string): Promise<Snapshot> => {
  const { id } = await world.change(cluster.id, { kind: 'snapshot', store_id })
  await world.ended(id)
  return get(id)
}
/** Waits until this attempt has failed, and advances the clock past the delay after it. */
async function overPause(id: string, attempt: number): Promise<Snapshot> {
  const shown = await world.until(
    () => get(id),
    (s) => Number(/Attempt (\d) of 4/.exec(s.reason ?? '')?.[1]) >= attempt,
  )
  expect(await world.toNextRun('snapshot', `${cluster.id}/${id}`)).toBeLessThanOrEqual(
    pausesMs[attempt - 1]!,
  )
  return shown
}
const all = async (query: object = {}) =>
  (await admin.call(snapshotList, { query: { per_page: 1000, ...query } })).answer!.items
const files = () =>
  existsSync(path.join(folder, 'clusters'))
    ? readdirSync(path.join(folder, 'clusters'), { recursive: true, withFileTypes: true }).filter(
        (f) => f.isFile(),
      )
    : []

test('a snapshot is read from a follower, encrypted and read back; its download is an etcd snapshot file with its hash', async () => {
  const snapshot = await take(disk)
  const etcd = world.machine(nodes[0]!).etcdCluster!
  expect(snapshot).toMatchObject({
    status: 'ready',
    cluster: { id: cluster.id, name: cluster.name },
    store: { name: 'disk' },
    made_by: 'request',
    etcd_version: '3.6.0',
    identity: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
    revision: expect.any(Number) as number,
    verified_at: expect.any(String) as string,
  })
  expect(snapshot.taken_from).not.toBe(etcd.leader!.name)
  const stored = readFileSync(path.join(folder, snapshot.key))
  for (const secret of ['kube-system', '/registry/', 'bolt'])
    expect(stored.includes(secret)).toBe(false)
  const response = await backend.app.inject({
    method: 'GET',
    url: `/v1/snapshots/${snapshot.id}/file`,
    headers: { authorization: `Bearer ${admin.accessToken}` },
  })
  expect([response.statusCode, response.headers['content-type']]).toEqual([
    200,
    expect.stringContaining('application/octet-stream'),
  ])
  const plain = response.rawPayload
  expect(plain.length).toBe(snapshot.size_bytes)
  expect(createHash('sha256').update(plain).digest('hex')).toBe(snapshot.sha256)
  expect(plain.subarray(-32)).toEqual(createHash('sha256').update(plain.subarray(0, -32)).digest())
  expect(plain.includes('/registry/namespaces/kube-system')).toBe(true)
  const viewer = await backend.signIn({ role: 'viewer' })
  expect((await viewer.call(snapshotDownload, { params: { id: snapshot.id } })).problem?.code).toBe(
    'forbidden',
  )
})

test('a snapshot in a bucket is ready, can be verified again, and is found damaged once a byte has changed', async () => {
  const unnamed = await admin.call(clusterChange, {
    params: { id: cluster.id },
    body: { change: { kind: 'snapshot' } },
  })
  expect(unnamed.problem?.error).toBe(
    'Choose a store: there are several, and the cluster has no schedule',
  )
  const snapshot = await take(bucket)
  expect(snapshot).toMatchObject({ status: 'ready', store: { name: 'offsite' } })
  const asked = () => admin.call(snapshotVerify, { params: { id: snapshot.id } })
  const verify = async () => (await asked()).answer!
  expect((await verify()).status).toBe('ready')
  service.trouble('answers-404')
  expect((await asked()).problem?.code).toBe('store_refused')
  service.trouble(null)
  expect((await get(snapshot.id)).status).toBe('ready')
  const key = `steelyard/prod/${snapshot.key}`
  const good = Buffer.from(service.objects.get(key)!)
  service.objects.get(key)![service.objects.get(key)!.length >> 1]! ^= 1
  expect(await verify()).toMatchObject({
    status: 'failed',
    reason: expect.stringContaining('changed') as string,
  })
  expect((await admin.call(snapshotDownload, { params: { id: snapshot.id } })).problem?.code).toBe(
    'transition_refused',
  )
  service.objects.delete(key)
  expect((await verify()).status).toBe('failed')
  service.objects.set(key, good)
  expect(await verify()).toMatchObject({ status: 'ready', reason: null })
})

longTest(
  'a snapshot whose store returns another file fails after four attempts, with the reason, and leaves no file',
  async () => {
    service.trouble('changes-byte')
    const before = service.objects.size
    const { id } = await world.change(cluster.id, { kind: 'snapshot', store_id: bucket })
    for (const attempt of [1, 2, 3]) await overPause(id, attempt)
    const ended = await world.ended(id)
    expect(ended).toMatchObject({
      status: 'failed',
      reason: expect.stringContaining('was changed') as string,
    })
    // The fourth attempt wrote the last file.
    expect(await get(id)).toMatchObject({
      status: 'failed',
      key: expect.stringMatching(/-4\.etcd$/) as string,
    })
    expect(service.objects.size).toBe(before)
  },
)

test('a snapshot names the reason of a store that refuses, and succeeds without a retry by the user once the store works again', async () => {
  service.trouble('refuses')
  const { id } = await world.change(cluster.id, { kind: 'snapshot', store_id: bucket })
  const waiting = await world.until(
    () => get(id),
    (s) => s.reason !== null,
  )
  expect(waiting.reason).toContain('the access key lacks a permission')
  expect((await admin.call(storeGet, { params: { id: bucket } })).answer!.problem).toContain(
    'lacks a permission',
  )
  service.trouble(null)
  await overPause(id, 1)
  expect((await world.ended(id)).status).toBe('done')
  expect((await admin.call(storeGet, { params: { id: bucket } })).answer!.problem).toBeNull()
})

test('a file of etcdctl is imported; a file that is truncated, changed or without a hash is refused with the reason', async () => {
  const plain = (
    await backend.app.inject({
      method: 'GET',
      url: `/v1/snapshots/${(await take(disk)).id}/file`,
      headers: { authorization: `Bearer ${admin.accessToken}` },
    })
  ).rawPayload
  const changed = Buffer.from(plain)
  changed[5000]! ^= 1
  const cases = {
    'good.db': plain,
    'cut.db': plain.subarray(0, 4096),
    'changed.db': changed,
    'plain.db': plain.subarray(0, -32),
    'text.db': Buffer.from('hello'),
  }
  for (const [name, bytes] of Object.entries(cases)) writeFileSync(path.join(folder, name), bytes)
  const bring = async (file: string) =>
    (
      await admin.call(snapshotImport, {
        params: { id: cluster.id },
        body: { store_id: disk, file },
      })
    ).answer!.id
  const good = await settled(await bring('good.db'))
  expect(good).toMatchObject({
    status: 'ready',
    made_by: 'import',
    taken_from: null,
    sha256: createHash('sha256').update(plain).digest('hex'),
  })
  const waits = async (file: string, reason: string) => {
    const id = await bring(file)
    const shown = await world.until(
      () => get(id),
      (s) => s.reason !== null,
    )
    expect(shown.reason).toContain(reason)
    await admin.call(snapshotRemove, { params: { id } })
  }
  await waits('cut.db', 'is incomplete')
  await waits('changed.db', 'damaged')
  await waits('plain.db', 'has no hash')
  await waits('text.db', 'is incomplete')
  await waits('none.db', 'has no file')
})

longTest(
  'a part of a large file that the store has lost is detected, and the snapshot is written again',
  async () => {
    const revision = (n: number) =>
      Buffer.concat([Buffer.alloc(7), Buffer.from([n]), Buffer.from('_'), Buffer.alloc(8)])
    const database = boltDatabase({
      key: Array.from(
        { length: 20 },
        (_, i) => [revision(i + 1), Buffer.alloc(1024 ** 2, i)] as const,
      ),
    })
    service.objects.set(
      'steelyard/prod/large.db',
      Buffer.concat([database, createHash('sha256').update(database).digest()]),
    )
    service.trouble('forgets-part')
    const { id } = (
      await admin.call(snapshotImport, {
        params: { id: cluster.id },
        body: { store_id: bucket, file: 'large.db' },
      })
    ).answer!
    await world.until(
      () => get(id),
      (s) => s.reason !== null,
    )
    service.trouble(null)
    expect((await overPause(id, 1)).reason).toContain(
      'Attempt 1 of 4 failed: The snapshot is cut off',
    )
    expect(await settled(id)).toMatchObject({
      status: 'ready',
      revision: 20,
      size_bytes: database.length + 32,
    })
  },
  600_000,
)

test('a removed snapshot is gone from the list and from its store', async () => {
  const snapshot = await take(disk)
  expect(existsSync(path.join(folder, snapshot.key))).toBe(true)
  await admin.call(snapshotRemove, { params: { id: snapshot.id } })
  await world.until(
    async () => (await admin.call(snapshotGet, { params: { id: snapshot.id } })).status,
    (status) => status === 404,
  )
  expect(existsSync(path.join(folder, snapshot.key))).toBe(false)
})

test('a store whose snapshots were all removed can be removed; the row of a removed snapshot stays', async () => {
  const made = await admin.call(storeCreate, {
    body: {
      name: 'spare',
      kind: 'folder',
      folder: path.join(backend.config.dataFolder, 'stores/spare'),
    },
  })
  const store = made.answer!.id
  const snapshot = await take(store)
  const refused = await admin.call(storeRemove, { params: { id: store } })
  expect([refused.status, refused.problem?.error]).toEqual([
    409,
    'spare contains a snapshot: remove it first',
  ])
  await admin.call(snapshotRemove, { params: { id: snapshot.id } })
  await world.until(
    async () => (await admin.call(snapshotGet, { params: { id: snapshot.id } })).status,
    (status) => status === 404,
  )
  expect((await admin.call(storeRemove, { params: { id: store } })).status).toBe(204)
  const { rows } = await backend.platform.pool.query(
    'select status, store_id from snapshot where id = $1',
    [snapshot.id],
  )
  expect(rows).toEqual([{ status: 'removed', store_id: null }])
})

const scheduled = async () =>
  (await all({ cluster: cluster.name })).filter((s) => s.made_by === 'schedule')
/**
 * Moves the last run of the schedule back by some hours. The clock isn't changed, because
 * certificates depend on it.
 */
async function away(hours: number): Promise<void> {
  await backend.platform.pool.query(
    `update snapshot_schedule set begun_for = begun_for - make_interval(hours => $1)`,
    [hours],
  )
  await inTransaction(backend.platform.db, (tx) =>
    backend.platform.engine.wake(tx, 'snapshot-schedule', cluster.id),
  )
}

test('a schedule takes one snapshot after a day without Steelyard, and removes only its own snapshots', async () => {
  const mine = files().length
  const wish = {
    store_id: disk,
    every_hours: 6 as const,
    at_hour: 0,
    keep_count: 2,
    keep_days: null,
  }
  const { answer: set } = await admin.call(snapshotScheduleSet, {
    params: { id: cluster.id },
    body: wish,
  })
  expect(set).toMatchObject({
    store: { name: 'disk' },
    every_hours: 6,
    last_ready_at: expect.any(String) as string,
    problem: null,
  })
  expect(await scheduled()).toEqual([])
  const taken: Snapshot[] = []
  for (const hours of [24, 6, 6]) {
    await away(hours)
    const list = await world.until(
      scheduled,
      (all) =>
        all.length > 0 &&
        !taken.some((t) => t.id === all[0]!.id) &&
        all.every((s) => s.status === 'ready'),
    )
    taken.push(list[0]!)
  }
  expect((await world.until(scheduled, (list) => list.length === 2)).map((s) => s.id)).toEqual(
    taken
      .slice(1)
      .map((s) => s.id)
      .toReversed(),
  )
  await world.until(
    async () => files().length,
    (n) => n === mine + 2,
  )
  expect(
    (await admin.call(snapshotScheduleGet, { params: { id: cluster.id } })).answer!.schedule,
  ).toMatchObject({ last_ready_at: taken[2]!.taken_at })
  expect((await admin.call(storeRemove, { params: { id: disk } })).problem?.code).toBe(
    'store_in_use',
  )
}, 600_000)

test('a scheduled snapshot waits for control planes and a store that are silent for a moment, and says so', async () => {
  const { answer: now } = await admin.call(snapshotScheduleGet, { params: { id: cluster.id } })
  const hourly = {
    store_id: bucket,
    every_hours: 1 as const,
    at_hour: 0,
    keep_count: 2,
    keep_days: null,
  }
  await admin.call(
    snapshotScheduleSet,
    { params: { id: cluster.id }, body: hourly },
    now!.schedule ? { ifMatch: now!.schedule.version } : {},
  )
  const begun = async () => {
    const before = new Set((await scheduled()).map((s) => s.id))
    await away(1)
    return (await world.until(scheduled, ([s]) => s !== undefined && !before.has(s.id)))[0]!.id
  }
  /** The snapshot after each refusal for now, which are more than the attempts of a failure. */
  const refused = async (id: string, times: number): Promise<Snapshot> => {
    for (let n = 1; n <= times; n++) {
      const waits = () =>
        backend.platform.db
          .selectFrom('snapshot')
          .select('waits')
          .where('id', '=', id)
          .executeTakeFirstOrThrow()
      await world.until(waits, (row) => row.waits >= n)
      await world.toNextRun('snapshot', `${cluster.id}/${id}`)
    }
    return get(id)
  }
  // The machines refuse before the snapshot begins: it would be ready before they do otherwise.
  for (const node of nodes) await addFault(world.machine(node), { kind: 'refuse' })
  const id = await begun()
  const waiting = await refused(id, 5)
  expect(waiting).toMatchObject({
    status: 'taking',
    reason: expect.stringMatching(
      /^Waits, at most until \d\d:\d\d UTC: No control plane of .* has a healthy etcd/,
    ) as string,
  })
  for (const node of nodes) await clearFaults(world.machine(node))
  expect(await settled(id)).toMatchObject({ status: 'ready', reason: null })
})

test('a failed scheduled snapshot is a trouble of its cluster, with the reason', async () => {
  const { answer: now } = await admin.call(snapshotScheduleGet, { params: { id: cluster.id } })
  const body = {
    store_id: bucket,
    every_hours: 1 as const,
    at_hour: 0,
    keep_count: 2,
    keep_days: null,
  }
  expect(
    (await admin.call(snapshotScheduleSet, { params: { id: cluster.id }, body }, { ifMatch: 99 }))
      .problem?.code,
  ).toBe('stale')
  await admin.call(
    snapshotScheduleSet,
    { params: { id: cluster.id }, body },
    { ifMatch: now!.schedule!.version },
  )
  service.trouble('refuses')
  const before = new Set((await scheduled()).map((s) => s.id))
  await away(1)
  const [failing] = await world.until(scheduled, ([s]) => s !== undefined && !before.has(s.id))
  for (const attempt of [1, 2, 3]) await overPause(failing!.id, attempt)
  const shown = await world.until(
    () => world.cluster(cluster.id),
    (c) => c.troubles.length > 0,
  )
  expect(shown.troubles).toContainEqual({
    node_id: null,
    message: expect.stringContaining('The last snapshot failed: The store') as string,
    retried: false,
  })
  expect(
    (await admin.call(snapshotScheduleGet, { params: { id: cluster.id } })).answer!.schedule!
      .problem,
  ).toContain('lacks a permission')
  expect((await admin.call(snapshotScheduleRemove, { params: { id: cluster.id } })).status).toBe(
    204,
  )
}, 600_000)
