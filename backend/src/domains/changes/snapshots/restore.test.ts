import { createCipheriv, createHash, randomBytes, randomUUID } from 'node:crypto'
import path from 'node:path'
import { writeFileSync } from 'node:fs'
import { beforeAll, expect, test } from 'vitest'
import { clusterChange, clusterPlan } from '#contract/clusters/changes/changes.ts'
import { type Cluster, clusterCreate, clusterDelete } from '#contract/clusters/clusters.ts'
import {
  type Snapshot,
  snapshotGet,
  snapshotImport,
  snapshotRemove,
} from '#contract/clusters/changes/snapshots.ts'
import { hasEnded, operationRetry } from '#contract/operations.ts'
import { type Server, serverCommands, serverReset } from '#contract/servers/servers.ts'
import { storeCreate } from '#contract/storage/stores.ts'
import { handOn } from '#simulator/src/kubernetes/hand.ts'
import { boltDatabase } from '#simulator/src/cluster/bolt.ts'
import { longTests } from '../../../../../tools/testing/length.ts'
import { longTest } from '../../../../../tools/testing/long-test.ts'
import { boxStream } from '../../../backup/encrypted-secret.ts'
import { inTransaction } from '../../../db/db.ts'
import { snapshotQueue } from '../../snapshots/parts.ts'
import { clusterSecrets } from '../../clusters/secrets.ts'
import { clusterWorld } from '../../clusters/testing/world.ts'
import { changeQueue } from '../../clusters/parts.ts'

const world = await clusterWorld({ servers: longTests ? 9 : 6 })
const { admin, backend, simulator } = world
const first = world.take(4)
const single = world.take(1)
const spare = world.take(longTests ? 3 : 1)
const again = world.take(1)
let cluster: Cluster
/** A cluster of one server. */
let small: Cluster
let store: string
const folder = path.join(backend.config.dataFolder, 'stores/disk')

beforeAll(async () => {
  const { cluster: made, operation } = await world.create(first, { name: 'web' })
  const other = await world.create(single, { name: 'other' })
  store = (await admin.call(storeCreate, { body: { name: 'disk', kind: 'folder', folder } }))
    .answer!.id
  await world.ended(operation.id)
  await world.ended(other.operation.id)
  cluster = made
  small = other.cluster
}, 600_000)

const hand = () => handOn(simulator.world, 'web')!
/** Waits until the operation has ended. The pauses after failed runs are skipped. */
const endedAtOnce = (id: string, queue: string, key: string) => {
  const again = () =>
    inTransaction(backend.platform.db, (tx) => backend.platform.engine.wake(tx, queue, key))
  return world.until(() => again().then(() => world.operation(id)), hasEnded)
}
const take = async (clusterId = cluster.id): Promise<Snapshot> => {
  const { id } = await world.change(clusterId, { kind: 'snapshot', store_id: store })
  expect((await endedAtOnce(id, snapshotQueue, `${clusterId}/${id}`)).status).toBe('done')
  return (await admin.call(snapshotGet, { params: { id } })).answer!
}
const refusal = async (change: object): Promise<string> => {
  const { problem } = await admin.call(clusterChange, {
    params: { id: cluster.id },
    body: { change: { kind: 'restore', ...change } as never },
  })
  return problem?.error ?? 'It was accepted'
}
/** An entry of etcd with this value: its revision, and its `mvccpb.KeyValue`. */
const secretEntry = (value: Buffer): readonly [Buffer, Buffer] => {
  const revision = Buffer.alloc(17)
  revision.writeBigUInt64BE(7n)
  revision[8] = 0x5f
  const field = (number: number, bytes: Buffer) =>
    Buffer.concat([Buffer.from([(number << 3) | 2, bytes.length]), bytes])
  return [
    revision,
    Buffer.concat([
      field(1, Buffer.from('/registry/secrets/kube-system/token')),
      Buffer.from([0x10, 7]),
      field(5, value),
    ]),
  ]
}
const ids = (nodes: readonly Server[]) => nodes.map((n) => n.id)
const off = (nodes: readonly Server[]) =>
  Promise.all(nodes.map((n) => world.machine(n).lifecycle.powerOff()))

test('two processes restore a running cluster once, nothing else begins meanwhile, and the workload is as it was', async () => {
  const identity = hand().addWorkload({ name: 'shop', replicas: 2, minAvailable: 1 })
  const { uid } = hand().show()
  const snapshot = await take()
  hand().addWorkload({ name: 'later', replicas: 1, minAvailable: 0 })
  expect(await refusal({ snapshot_id: snapshot.id })).toContain(
    'have data of etcd: name them to be wiped',
  )
  expect(
    await refusal({ snapshot_id: snapshot.id, reset: [first[0]!.id, randomUUID()] }),
  ).toContain('has no control plane')
  const change = {
    kind: 'restore' as const,
    snapshot_id: snapshot.id,
    reset: ids(first.slice(0, 3)),
  }
  const plan = (await admin.call(clusterPlan, { params: { id: cluster.id }, body: { change } }))
    .answer!
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
  const resets = () => first.map((n) => world.machine(n).disk.state.counters.resets)
  const [unwiped, beside] = [resets(), await world.beside()]
  // Two requests at once, in two processes: one restore begins, and both processes carry it out.
  const asked = await Promise.all(
    [admin, beside.admin].map((one) =>
      one.call(clusterChange, { params: { id: cluster.id }, body: { change } }),
    ),
  )
  const { id } = asked.find((called) => called.answer)!.answer!.operation
  const busy = {
    code: 'operation_running',
    error: expect.stringContaining('has not ended') as string,
  }
  expect(asked.flatMap((called) => called.problem ?? [])).toEqual([expect.objectContaining(busy)])
  // Nothing else changes the cluster, its servers or the snapshot meanwhile.
  const params = { id: cluster.id }
  expect(
    (await beside.admin.call(clusterChange, { params, body: { change: { kind: 'defragment' } } }))
      .problem,
  ).toMatchObject(busy)
  expect((await admin.call(clusterDelete, { params })).problem).toMatchObject(busy)
  expect(
    (await admin.call(clusterDelete, { params, query: { force: 'true' } })).problem,
  ).toMatchObject(busy)
  expect((await admin.call(snapshotRemove, { params: { id: snapshot.id } })).problem).toMatchObject(
    { code: 'operation_running' },
  )
  for (const call of [serverCommands.serverReboot, serverReset] as const)
    expect(
      (await admin.call(call, { params: { id: first[0]!.id }, body: {} })).problem,
    ).toMatchObject({ code: 'operation_running' })
  expect(await world.ended(id)).toMatchObject({ status: 'done' })
  await beside.stop()
  expect(world.etcds('web')).toBe(before + 1)
  expect(resets()).toEqual(unwiped.map((count, i) => count + (i < 3 ? 1 : 0)))
  const shown = hand().show()
  expect(shown.uid).toBe(uid)
  expect(shown.workloads.map((w) => [w.name, w.identity])).toEqual([['shop', identity]])
  expect(
    (
      await world.until(
        () => world.judged(cluster.id),
        (c) => c.status === 'ready',
      )
    ).troubles,
  ).toEqual([])
}, 600_000)

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
    const other = () => handOn(simulator.world, 'other')!
    other().addWorkload({ name: 'shop', replicas: 1, minAvailable: 0 })
    const snapshot = await take(small.id)
    const before = other().show()
    const etcds = world.etcds('other')
    const { id } = await world.change(small.id, {
      kind: 'restore',
      snapshot_id: snapshot.id,
      reset: ids(single),
    })
    expect(await endedAtOnce(id, changeQueue, small.id)).toMatchObject({ status: 'done' })
    expect([...ends]).toEqual([])
    expect(world.etcds('other')).toBe(etcds + 1)
    expect(
      other()
        .show()
        .workloads.map((w) => w.identity),
    ).toEqual(before.workloads.map((w) => w.identity))
  } finally {
    failpoint.reach = reach
  }
}, 600_000)

test('a snapshot of another cluster needs its name, and one of a newer etcd or a damaged one is refused before anything is wiped', async () => {
  const foreign = await take(small.id)
  const reset = ids(first.slice(0, 3))
  expect(await refusal({ snapshot_id: foreign.id, reset })).toContain(
    'The snapshot is of the cluster other, not of web',
  )
  expect(await refusal({ snapshot_id: foreign.id, reset, of: 'web' })).toContain(
    'The snapshot is of the cluster other',
  )
  expect(await refusal({ snapshot_id: foreign.id, reset, of: 'other' })).toContain(
    'encrypted with a key that other has. The control planes of web have another one',
  )
  const entries = (texts: Record<string, string>) =>
    Object.entries(texts).map(([k, v]) => [Buffer.from(k), Buffer.from(v)] as const)
  const importFile = async (version: string, value?: Buffer) => {
    const key = [secretEntry(value ?? Buffer.from('not encrypted'))]
    const database = boltDatabase({
      key,
      meta: entries({ storageVersion: version }),
      cluster: entries({ clusterVersion: version }),
    })
    writeFileSync(
      path.join(folder, 'handed.db'),
      Buffer.concat([database, createHash('sha256').update(database).digest()]),
    )
    const { id } = (
      await admin.call(snapshotImport, {
        params: { id: cluster.id },
        body: { store_id: store, file: 'handed.db' },
      })
    ).answer!
    return world.until(
      async () => (await admin.call(snapshotGet, { params: { id } })).answer!,
      (one) => one.status !== 'taking',
    )
  }
  const refused = await importFile('3.7.0')
  expect(refused.reason).toContain('The snapshot was made by etcd 3.7.0, but Talos')
  // Files of unknown clusters: the Secrets of the first two have keys of another cluster, those of
  // the last one that of this cluster.
  const { secretboxEncryptionSecret: own } = (await clusterSecrets(backend.platform).bundle(
    backend.platform.db,
    cluster.id,
  ))!.secrets
  const [aes, iv, nonce] = [randomBytes(32), randomBytes(16), randomBytes(24)]
  const object = Buffer.from('k8s\0\n\f\n\x02v1\x12\x06Secret and its content')
  const cipher = createCipheriv('aes-256-cbc', aes, iv)
  const boxed = (box: Buffer) =>
    Buffer.concat([
      Buffer.from('k8s:enc:secretbox:v1:key2:'),
      nonce,
      randomBytes(16),
      box.map((byte, i) => byte ^ object[i]!),
    ])
  for (const value of [
    Buffer.concat([
      Buffer.from('k8s:enc:aescbc:v1:key1:'),
      iv,
      cipher.update(object),
      cipher.final(),
    ]),
    boxed(Buffer.from(boxStream(randomBytes(32), nonce))),
  ]) {
    const { id: snapshot_id } = await importFile('3.6.0', value)
    const unknown =
      'encrypted with a key that Steelyard does not know, so no API server of web could read them'
    expect(await refusal({ snapshot_id, reset })).toContain(unknown)
    expect(
      await refusal({ snapshot_id, servers: [{ node_id: spare[0]!.id, role: 'control_plane' }] }),
    ).toContain(unknown)
    // As imported by an earlier version of Steelyard.
    await backend.platform.pool.query(`update snapshot set encryption = null where id = $1`, [
      snapshot_id,
    ])
    const stopped = await world.ended(
      (await world.change(cluster.id, { kind: 'restore', snapshot_id, reset })).id,
    )
    expect(stopped).toMatchObject({
      status: 'failed',
      reason: expect.stringContaining(unknown) as string,
    })
    expect(stopped.steps.slice(0, 2).map((s) => [s.key, s.status])).toEqual([
      ['read', 'failed'],
      ['wipe', 'todo'],
    ])
  }
  const known = await importFile(
    '3.6.0',
    boxed(Buffer.from(boxStream(Buffer.from(own!, 'base64'), nonce))),
  )
  const { answer: plan } = await admin.call(clusterPlan, {
    params: { id: cluster.id },
    body: { change: { kind: 'restore', snapshot_id: known.id, reset } },
  })
  expect(plan!.checks.filter((c) => !c.ok)).toEqual([])
  expect(plan!.checks.map((c) => c.message)).toContain('web can read the Secrets in the snapshot')
  const good = await take()
  // As after the cluster was restored with an older Talos.
  await backend.platform.pool.query(`update snapshot set etcd_version = '3.7.0' where id = $1`, [
    good.id,
  ])
  expect(await refusal({ snapshot_id: good.id, reset })).toContain("which can't read newer data")
  await backend.platform.pool.query(`update snapshot set etcd_version = $2 where id = $1`, [
    good.id,
    good.etcd_version,
  ])
  writeFileSync(path.join(folder, good.key), 'nothing')
  const { id: operation } = await world.change(cluster.id, {
    kind: 'restore',
    snapshot_id: good.id,
    reset,
  })
  const ended = await world.ended(operation)
  expect(ended).toMatchObject({
    status: 'failed',
    reason: expect.stringContaining('not a snapshot that Steelyard has sealed') as string,
  })
  expect(ended.steps.map((s) => s.status).slice(0, 2)).toEqual(['failed', 'todo'])
  // The snapshot of a failed restore can be removed. A retry then has nothing to restore from.
  expect((await admin.call(snapshotRemove, { params: { id: good.id } })).status).toBe(204)
  // So has one that had read the snapshot, and failed at the wipe.
  const isRead = `update operation_step set status = case key when 'read' then 'done' else 'failed' end
    where operation_id = $1 and key in ('read', 'wipe')`
  for (const sql of [null, isRead]) {
    if (sql !== null) await backend.platform.pool.query(sql, [operation])
    await admin.call(operationRetry, { params: { id: operation } })
    expect(await world.ended(operation)).toMatchObject({
      status: 'failed',
      reason: expect.stringContaining('The snapshot was removed') as string,
    })
  }
  expect(hand().show().hasQuorum).toBe(true)
}, 600_000)

// `npm test` goes this way in the life of a cluster (`e2e/faults/life.test.ts`).
longTest(
  'a cluster whose servers all died comes back on new servers with its name, its secrets and its workload',
  async () => {
    const before = hand().show()
    // A node of a machine that is not managed by Steelyard.
    world.machine(first[0]!).etcdCluster!.change(({ kubernetes }) => {
      const known = kubernetes.objects[`/nodes/${first[3]!.name}`]!
      const metadata = {
        ...(known.body['metadata'] as object),
        name: 'visitor',
        uid: randomUUID(),
        resourceVersion: String(++kubernetes.resourceVersion),
      }
      kubernetes.objects['/nodes/visitor'] = { ...known, body: { ...known.body, metadata } }
    })
    const snapshot = await take()
    const change = {
      kind: 'restore' as const,
      snapshot_id: snapshot.id,
      servers: spare.map(({ id }, i) => ({
        node_id: id,
        role: i === 0 ? ('control_plane' as const) : ('worker' as const),
      })),
    }
    expect(await refusal({ ...change })).toContain('still run web')
    await off(first)
    await world.until(
      () => refusal({ ...change, snapshot_id: randomUUID() }),
      (text) => text === 'There is no such snapshot',
    )
    const ended = await world.ended((await world.change(cluster.id, change)).id)
    expect(ended).toMatchObject({ status: 'done' })
    const after = hand().show()
    expect(after.uid).toBe(before.uid)
    expect(after.workloads.map((w) => [w.name, w.identity])).toEqual(
      before.workloads.map((w) => [w.name, w.identity]),
    )
    const names = spare.map((s) => s.name).toSorted()
    expect(world.nodeNames(spare[0]!).toSorted()).toEqual([...names, 'visitor'].toSorted())
    const shown = await world.until(
      () => world.judged(cluster.id),
      (c) => c.status === 'ready',
    )
    expect(shown.servers.map((s) => s.name).toSorted()).toEqual(names)
    expect((await world.server(first[0]!.id)).cluster).toBeNull()
  },
  600_000,
)

longTest(
  'a cluster is restored on its own servers after they came back empty, with the keys of the snapshot, and tokens that were rotated since stay invalid',
  async () => {
    const other = (await admin.call(clusterCreate, { body: world.ask(again, { name: 'lone' }) }))
      .answer!
    expect((await world.ended(other.operation.id)).status).toBe('done')
    const { id } = await world.change(other.cluster.id, { kind: 'snapshot', store_id: store })
    await world.ended(id)
    const secrets = clusterSecrets(backend.platform)
    const { db } = backend.platform
    const former = (await secrets.bundle(db, other.cluster.id))!
    expect(
      (
        await world.ended(
          (await world.change(other.cluster.id, { kind: 'rotate', what: 'tokens' })).id,
        )
      ).status,
    ).toBe('done')
    // As if others had changed the key with which Kubernetes encrypts Secrets.
    const { secrets: tokens, ...rest } = (await secrets.bundle(db, other.cluster.id))!
    const secretboxEncryptionSecret = randomBytes(32).toString('base64')
    await inTransaction(db, (tx) =>
      secrets.importBundle(tx, other.cluster.id, {
        ...rest,
        secrets: { ...tokens, secretboxEncryptionSecret },
      }),
    )
    const onItself = { kind: 'restore' as const, snapshot_id: id, reset: ids(again) }
    const { answer: refused } = await admin.call(clusterPlan, {
      params: { id: other.cluster.id },
      body: { change: onItself },
    })
    expect(
      refused!.checks
        .filter((c) => !c.ok)
        .map((c) => c.message)
        .join(),
    ).toContain('encrypted with a key that lone had until')
    const machine = world.machine(again[0]!)
    const uid = handOn(simulator.world, 'lone')!.show().uid
    machine.lifecycle.request({
      kind: 'reset',
      reset: { graceful: false, reboot: true, partitions: null },
    })
    await world.until(
      async () => machine.stage.stage,
      (stage) => stage === 'maintenance',
    )
    const change = {
      kind: 'restore' as const,
      snapshot_id: id,
      servers: [{ node_id: again[0]!.id, role: 'control_plane' as const }],
    }
    await world.until(
      async () =>
        (
          await admin.call(clusterPlan, { params: { id: other.cluster.id }, body: { change } })
        ).answer!.checks.filter((c) => !c.ok),
      (checks) => checks.length === 0,
    )
    const ended = await world.ended((await world.change(other.cluster.id, change)).id)
    expect(ended).toMatchObject({ status: 'done' })
    expect(handOn(simulator.world, 'lone')!.show().uid).toBe(uid)
    const now = (await secrets.bundle(db, other.cluster.id))!
    expect(now.secrets).toEqual({ ...former.secrets, bootstrapToken: tokens.bootstrapToken })
    expect(machine.config?.node?.cluster.token).toBe(tokens.bootstrapToken)
    const found = Object.keys(machine.etcdCluster!.state.kubernetes.objects).filter((key) =>
      key.includes('bootstrap-token-'),
    )
    expect(found.map((key) => key.split('bootstrap-token-')[1])).toEqual([
      tokens.bootstrapToken.split('.')[0],
    ])
  },
  600_000,
)
