import { createHash, randomBytes, randomUUID } from 'node:crypto'
import path from 'node:path'
import { writeFileSync } from 'node:fs'
import { beforeAll, expect, test } from 'vitest'
import { clusterChange, clusterPlan } from '#contract/clusters/changes/changes.ts'
import { type Cluster, clusterCreate, clusterList } from '#contract/clusters/clusters.ts'
import { type Snapshot, snapshotGet, snapshotImport } from '#contract/clusters/changes/snapshots.ts'
import { hasEnded } from '#contract/operations.ts'
import type { Server } from '#contract/servers/servers.ts'
import { storeCreate } from '#contract/storage/stores.ts'
import { handOn } from '#simulator/src/kubernetes/hand.ts'
import { boltDatabase } from '#simulator/src/cluster/bolt.ts'
import { inTransaction } from '../../../../db/db.ts'
import { snapshotQueue } from '../../../snapshots/parts.ts'
import { clusterSecrets } from '../../secrets.ts'
import { clusterWorld } from '../../testing/world.ts'
import { changeQueue } from '../planning.ts'

const world = await clusterWorld({ servers: 11 })
const { admin, backend, simulator } = world
const first = world.take(4)
const spare = world.take(3)
const small = world.take(1)
const again = world.take(1)
let cluster: Cluster
let store: string
const folder = path.join(backend.config.dataFolder, 'stores/disk')

beforeAll(async () => {
  const { cluster: made, operation } = await world.create(first, { name: 'web' })
  const other = await world.create(small, { name: 'other' })
  store = (await admin.call(storeCreate, { body: { name: 'disk', kind: 'folder', folder } })).answer!.id
  await world.ended(operation.id)
  await world.ended(other.operation.id)
  cluster = made
}, 180_000)

const hand = () => handOn(simulator.world, 'web')!
/** Waits until the operation has ended. The pauses after failed runs are skipped. */
const endedAtOnce = (id: string, queue: string, key: string) => {
  const again = () => inTransaction(backend.platform.db, (tx) => backend.platform.engine.wake(tx, queue, key))
  return world.until(() => again().then(() => world.operation(id)), hasEnded, 120_000)
}
const take = async (clusterId = cluster.id): Promise<Snapshot> => {
  const { id } = await world.change(clusterId, { kind: 'snapshot', store_id: store })
  expect((await endedAtOnce(id, snapshotQueue, `${clusterId}/${id}`)).status).toBe('done')
  return (await admin.call(snapshotGet, { params: { id } })).answer!
}
const refusal = async (change: object): Promise<string> => {
  const { problem } = await admin.call(clusterChange, { params: { id: cluster.id }, body: { change: { kind: 'restore', ...change } as never } })
  return problem?.error ?? 'It was accepted'
}
const ids = (nodes: readonly Server[]) => nodes.map((n) => n.id)
const off = (nodes: readonly Server[]) => Promise.all(nodes.map((n) => world.machine(n).lifecycle.powerOff()))

test('a running cluster is restored from its snapshot: etcd is wiped on the named control planes, and the workload is as it was', async () => {
  const identity = hand().addWorkload({ name: 'shop', replicas: 2, minAvailable: 1 })
  const { uid } = hand().show()
  const snapshot = await take()
  hand().addWorkload({ name: 'later', replicas: 1, minAvailable: 0 })
  expect(await refusal({ snapshot_id: snapshot.id })).toContain('have data of etcd: name them to be wiped')
  expect(await refusal({ snapshot_id: snapshot.id, reset: [first[0]!.id, randomUUID()] })).toContain('has no control plane')
  const change = { kind: 'restore' as const, snapshot_id: snapshot.id, reset: ids(first.slice(0, 3)) }
  const plan = (await admin.call(clusterPlan, { params: { id: cluster.id }, body: { change } })).answer!
  expect(plan.groups.flatMap((g) => g.steps.map((s) => s.key.split('/')[0]))).toEqual([
    'read',
    'wipe',
    'upload',
    'recover',
    'members',
    'objects',
    'stale',
    'node-ready',
    'node-ready',
    'node-ready',
  ])
  expect(plan.warnings.join(' ')).toContain('etcd still runs')
  const before = world.etcds('web')
  const ended = await world.ended((await world.change(cluster.id, change)).id, 120_000)
  expect(ended).toMatchObject({ status: 'done' })
  expect(world.etcds('web')).toBe(before + 1)
  const shown = hand().show()
  expect(shown.uid).toBe(uid)
  expect(shown.workloads.map((w) => [w.name, w.identity])).toEqual([['shop', identity]])
  expect(
    (
      await world.until(
        () => world.cluster(cluster.id),
        (c) => c.status === 'ready',
      )
    ).troubles,
  ).toEqual([])
}, 180_000)

test('a snapshot and a restore continue after a crash before or after any effect, and etcd starts from the snapshot once', async () => {
  const effects = ['snapshot', 'wipe', 'upload', 'recover']
  const ends = new Set(effects.flatMap((name) => [`${name}:before`, `${name}:after`]))
  const { failpoint } = backend.platform
  const reach = failpoint.reach.bind(failpoint)
  // The run ends here like a killed process: its effect is not recorded.
  failpoint.reach = (effect, when) => {
    if (ends.delete(`${effect.split('/', 1)[0]}:${when}`)) throw new Error('Killed here')
  }
  try {
    const snapshot = await take()
    const before = hand().show()
    const etcds = world.etcds('web')
    const { id } = await world.change(cluster.id, { kind: 'restore', snapshot_id: snapshot.id, reset: ids(first.slice(0, 3)) })
    expect(await endedAtOnce(id, changeQueue, cluster.id)).toMatchObject({ status: 'done' })
    expect([...ends]).toEqual([])
    expect(world.etcds('web')).toBe(etcds + 1)
    expect(
      hand()
        .show()
        .workloads.map((w) => w.identity),
    ).toEqual(before.workloads.map((w) => w.identity))
  } finally {
    failpoint.reach = reach
  }
}, 200_000)

test('a snapshot of another cluster needs its name, and one of a newer etcd or a damaged one is refused before anything is wiped', async () => {
  const { items } = (await admin.call(clusterList)).answer!
  const foreign = await take(items.find((c) => c.name === 'other')!.id)
  const reset = ids(first.slice(0, 3))
  expect(await refusal({ snapshot_id: foreign.id, reset })).toContain('The snapshot is of the cluster other, not of web')
  expect(await refusal({ snapshot_id: foreign.id, reset, of: 'web' })).toContain('The snapshot is of the cluster other')
  const entries = (texts: Record<string, string>) => Object.entries(texts).map(([k, v]) => [Buffer.from(k), Buffer.from(v)] as const)
  const database = boltDatabase({ key: [], meta: entries({ storageVersion: '3.7.0' }), cluster: entries({ clusterVersion: '3.7.0' }) })
  writeFileSync(path.join(folder, 'newer.db'), Buffer.concat([database, createHash('sha256').update(database).digest()]))
  const { id } = (await admin.call(snapshotImport, { params: { id: cluster.id }, body: { store_id: store, file: 'newer.db' } })).answer!
  const refused = await world.until(
    async () => (await admin.call(snapshotGet, { params: { id } })).answer!,
    (s) => s.status === 'failed',
  )
  expect(refused.reason).toContain('The snapshot was made by etcd 3.7.0, but Talos')
  const good = await take()
  // As after the cluster was restored with an older Talos.
  await backend.platform.pool.query(`update snapshot set etcd_version = '3.7.0' where id = $1`, [good.id])
  expect(await refusal({ snapshot_id: good.id, reset })).toContain("which can't read newer data")
  await backend.platform.pool.query(`update snapshot set etcd_version = $2 where id = $1`, [good.id, good.etcd_version])
  writeFileSync(path.join(folder, good.key), 'nothing')
  const { id: operation } = await world.change(cluster.id, { kind: 'restore', snapshot_id: good.id, reset })
  const ended = await world.ended(operation)
  expect(ended).toMatchObject({ status: 'failed', reason: expect.stringContaining('not a snapshot that Steelyard has sealed') as string })
  expect(ended.steps.map((s) => s.status).slice(0, 2)).toEqual(['failed', 'todo'])
  expect(hand().show().hasQuorum).toBe(true)
}, 120_000)

test('a cluster whose servers all died comes back on new servers with its name, its secrets and its workload', async () => {
  const before = hand().show()
  const snapshot = await take()
  const change = {
    kind: 'restore' as const,
    snapshot_id: snapshot.id,
    servers: spare.map(({ id }, i) => ({ node_id: id, role: i === 0 ? ('control_plane' as const) : ('worker' as const) })),
  }
  expect(await refusal({ ...change })).toContain('still run web')
  await off(first)
  await world.until(
    () => refusal({ ...change, snapshot_id: randomUUID() }),
    (text) => text === 'There is no such snapshot',
  )
  const ended = await world.ended((await world.change(cluster.id, change)).id, 180_000)
  expect(ended).toMatchObject({ status: 'done' })
  const after = hand().show()
  expect(after.uid).toBe(before.uid)
  expect(after.workloads.map((w) => [w.name, w.identity])).toEqual(before.workloads.map((w) => [w.name, w.identity]))
  const names = spare.map((s) => s.name).toSorted()
  expect(world.nodeNames(spare[0]!).toSorted()).toEqual(names)
  const shown = await world.until(
    () => world.cluster(cluster.id),
    (c) => c.status === 'ready',
  )
  expect(shown.servers.map((s) => s.name).toSorted()).toEqual(names)
  expect((await world.server(first[0]!.id)).cluster).toBeNull()
}, 240_000)

test('a cluster is restored on its own servers after they came back empty, with the keys of the snapshot, and tokens that were rotated since stay invalid', async () => {
  const other = (await admin.call(clusterCreate, { body: world.ask(again, { name: 'lone' }) })).answer!
  expect((await world.ended(other.operation.id)).status).toBe('done')
  const { id } = await world.change(other.cluster.id, { kind: 'snapshot', store_id: store })
  await world.ended(id)
  const secrets = clusterSecrets(backend.platform)
  const { db } = backend.platform
  const former = (await secrets.bundle(db, other.cluster.id))!
  expect((await world.ended((await world.change(other.cluster.id, { kind: 'rotate', what: 'tokens' })).id)).status).toBe('done')
  // As if others had changed the key with which Kubernetes encrypts Secrets.
  const { secrets: tokens, ...rest } = (await secrets.bundle(db, other.cluster.id))!
  const secretboxEncryptionSecret = randomBytes(32).toString('base64')
  await inTransaction(db, (tx) => secrets.importBundle(tx, other.cluster.id, { ...rest, secrets: { ...tokens, secretboxEncryptionSecret } }))
  const onItself = { kind: 'restore' as const, snapshot_id: id, reset: ids(again) }
  const { answer: refused } = await admin.call(clusterPlan, { params: { id: other.cluster.id }, body: { change: onItself } })
  expect(
    refused!.checks
      .filter((c) => !c.ok)
      .map((c) => c.message)
      .join(),
  ).toContain('encrypted with a key that lone had until')
  const machine = world.machine(again[0]!)
  const uid = handOn(simulator.world, 'lone')!.show().uid
  machine.lifecycle.request({ kind: 'reset', reset: { graceful: false, reboot: true, partitions: null } })
  await world.until(
    async () => machine.stage.stage,
    (stage) => stage === 'maintenance',
  )
  const change = { kind: 'restore' as const, snapshot_id: id, servers: [{ node_id: again[0]!.id, role: 'control_plane' as const }] }
  await world.until(
    async () => (await admin.call(clusterPlan, { params: { id: other.cluster.id }, body: { change } })).answer!.checks.filter((c) => !c.ok),
    (checks) => checks.length === 0,
  )
  const ended = await world.ended((await world.change(other.cluster.id, change)).id, 180_000)
  expect(ended).toMatchObject({ status: 'done' })
  expect(handOn(simulator.world, 'lone')!.show().uid).toBe(uid)
  const now = (await secrets.bundle(db, other.cluster.id))!
  expect(now.secrets).toEqual({ ...former.secrets, bootstrapToken: tokens.bootstrapToken })
  expect(machine.config?.node?.cluster.token).toBe(tokens.bootstrapToken)
  const found = Object.keys(machine.etcdCluster!.state.kubernetes.objects).filter((key) => key.includes('bootstrap-token-'))
  expect(found.map((key) => key.split('bootstrap-token-')[1])).toEqual([tokens.bootstrapToken.split('.')[0]])
}, 240_000)
