/**
 * Exchange of snapshots between Steelyard and the published etcd, which has saved
 * `conformance/etcd/etcd.snapshot`. `npm run conformance` runs this file with another snapshot of
 * the published etcd, `saved.snapshot` in the folder `CONFORMANCE_ETCD`. The tests leave two files
 * there, which the published etcd then checks: `taken.snapshot`, a snapshot that Steelyard has
 * taken, and `taken.json`, the uids that it must contain.
 */
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { snapshotGet, snapshotImport } from '#contract/clusters/changes/snapshots.ts'
import type { Cluster } from '#contract/clusters/clusters.ts'
import { storeCreate } from '#contract/storage/stores.ts'
import { recoveredState } from '#simulator/src/cluster/recovery.ts'
import { clusterWorld } from '../clusters/testing/world.ts'

const handedOver = process.env.CONFORMANCE_ETCD
const published =
  handedOver === undefined
    ? path.join(import.meta.dirname, '../../../../conformance/etcd/etcd.snapshot')
    : path.join(handedOver, 'saved.snapshot')
/** Kinds whose objects don't change in an idle cluster. */
const steadyKinds = new Set([
  'Namespace',
  'Node',
  'Service',
  'ServiceAccount',
  'ConfigMap',
  'ClusterRole',
  'ClusterRoleBinding',
])

const world = await clusterWorld({ servers: 1 })
const { admin, backend } = world
const [node] = world.take(1)
const folder = path.join(backend.config.dataFolder, 'stores/disk')
let cluster: Cluster
let store_id: string
beforeAll(async () => {
  const created = await world.create([node!])
  store_id = (await admin.call(storeCreate, { body: { name: 'disk', kind: 'folder', folder } }))
    .answer!.id
  cluster = created.cluster
  await world.until(
    () => world.cluster(cluster.id),
    (one) => one.status === 'ready',
  )
}, 600_000)

const ready = async (id: string) => {
  const snapshot = await world.until(
    async () => (await admin.call(snapshotGet, { params: { id } })).answer!,
    (one) => one.status !== 'taking' || one.reason !== null,
  )
  expect(snapshot).toMatchObject({ status: 'ready', reason: null, etcd_version: '3.6.0' })
  return snapshot
}
const download = async (id: string): Promise<Buffer> =>
  (
    await backend.app.inject({
      method: 'GET',
      url: `/v1/snapshots/${id}/file`,
      headers: { authorization: `Bearer ${admin.accessToken}` },
    })
  ).rawPayload
const importPublished = async () => {
  mkdirSync(folder, { recursive: true })
  copyFileSync(published, path.join(folder, 'published.db'))
  const { answer } = await admin.call(snapshotImport, {
    params: { id: cluster.id },
    body: { store_id, file: 'published.db' },
  })
  return ready(answer!.id)
}
/** The uids of a cluster's objects, sorted. */
const uidsOf = ({ objects }: ReturnType<typeof recoveredState>): string[] =>
  Object.values(objects)
    .filter(({ body }) => steadyKinds.has(body.kind as string))
    .map(({ body }) => (body.metadata as { uid: string }).uid)
    .toSorted()
const running = () => world.machine(node!).etcdCluster!.state.kubernetes

test('a snapshot of the published etcd is imported with its revision and cluster UID, and downloaded unchanged', async () => {
  const snapshot = await importPublished()
  const { resourceVersion, objects } = recoveredState(readFileSync(published), false)
  const { uid } = objects['/namespaces/kube-system']!.body.metadata as { uid: string }
  expect(snapshot).toMatchObject({ revision: resourceVersion, identity: uid })
  expect((await download(snapshot.id)).equals(readFileSync(published))).toBe(true)
})

test('a snapshot that Steelyard has taken contains every object of the cluster', async () => {
  const { id, status } = await world.ended(
    (await world.change(cluster.id, { kind: 'snapshot', store_id })).id,
  )
  expect(status).toBe('done')
  const taken = await ready(id)
  const file = await download(taken.id)
  const uids = uidsOf(running())
  expect(uids.length).toBeGreaterThan(10)
  expect(uidsOf(recoveredState(file, false))).toEqual(uids)
  if (handedOver === undefined) return
  writeFileSync(path.join(handedOver, 'taken.snapshot'), file)
  writeFileSync(
    path.join(handedOver, 'taken.json'),
    JSON.stringify({ revision: taken.revision, uids }),
  )
})

test('a cluster is restored from a snapshot of the published etcd and serves its objects', async () => {
  const snapshot = await importPublished()
  const before = running()
  const asked = {
    kind: 'restore' as const,
    snapshot_id: snapshot.id,
    reset: [node!.id],
    of: cluster.name,
  }
  const operation = await world.ended((await world.change(cluster.id, asked)).id)
  expect(operation).toMatchObject({ status: 'done' })
  const after = running()
  expect(after).not.toBe(before)
  for (const [key, { body }] of Object.entries(
    recoveredState(readFileSync(published), false).objects,
  )) {
    const { uid } = body.metadata as { uid: string }
    expect(after.objects[key]?.body).toMatchObject({
      kind: body.kind,
      metadata: { uid },
      ...(body.data !== undefined && { data: body.data }),
    })
  }
  expect(after.objects['/configmaps/shop/ledger']!.body.data).toMatchObject({ orders: '3' })
  expect(after.objects['/configmaps/shop/forgotten']).toBeUndefined()
  expect(Object.keys(after.objects).filter((key) => key.startsWith('/nodes/'))).toEqual([
    `/nodes/${world.machine(node!).hostname}`,
  ])
}, 600_000)
