/** The life of a cluster in documents, on Talos 1.14 with Kubernetes 1.37. */
import path from 'node:path'
import { expect, test } from 'vitest'
import type { ClusterChangeInput } from '#contract/clusters/changes/changes.ts'
import { snapshotGet } from '#contract/clusters/changes/snapshots.ts'
import { serverDrift } from '#contract/servers/drift.ts'
import type { Server } from '#contract/servers/servers.ts'
import { storeCreate } from '#contract/storage/stores.ts'
import { handOn } from '#simulator/src/kubernetes/hand.ts'
import { clusterWorld } from '../clusters/testing/world.ts'

const world = await clusterWorld({ servers: 7, seed: 'life-114', talos: 'v1.14.1' })
const { admin, backend } = world
const nodes = world.take(5)
const { cluster, operation: creation } = await world.create(nodes, {
  name: 'web',
  talos_version: 'v1.14.1',
  kubernetes_version: '1.37.2',
})
const { id } = cluster
const others = nodes.filter((_, i) => i !== 2)

const configOf = (node: Pick<Server, 'id'>): string => world.machine(node).disk.state.config ?? ''
const bootsOf = (node: Pick<Server, 'id'>): number => world.machine(node).disk.state.counters.boots

/** Carries out a change. Afterwards every server has what Steelyard has stored, and is well. */
async function run(change: ClusterChangeInput, of: readonly Server[] = nodes): Promise<string> {
  const operation = await world.change(id, change)
  expect(await world.ended(operation.id)).toMatchObject({ status: 'done', reason: null })
  for (const node of of) {
    expect((await admin.call(serverDrift, { params: { id: node.id } })).answer).toMatchObject({
      state: 'none',
    })
    expect(configOf(node)).toContain('kind: KubeletConfig')
  }
  await world.until(
    () => world.judged(id),
    (c) => c.status === 'ready',
  )
  return operation.id
}

test('a cluster of 3 + 2 is created in documents', async () => {
  expect(await world.ended(creation.id)).toMatchObject({ status: 'done', reason: null })
  expect(await world.recovered(id)).toMatchObject({
    status: 'ready',
    talos_version: 'v1.14.1',
    kubernetes_version: '1.37.2',
  })
  expect(world.etcds('web')).toBe(1)
})

test('every server gets a patch of its documents without a restart', async () => {
  const before = nodes.map(bootsOf)
  const body = 'apiVersion: v1alpha1\nkind: SysctlConfig\nparams:\n  vm.swappiness: "30"\n'
  await run({
    kind: 'configure',
    patches: [{ name: 'swap', weight: 500, labels: {}, body }],
  })
  for (const node of nodes) expect(configOf(node)).toContain('vm.swappiness: "30"')
  expect(nodes.map(bootsOf)).toEqual(before)
})

// Workers have nothing of the authority of aggregated APIs.
test.each([
  ['talos_ca', 5],
  ['kubernetes_ca', 5],
  ['aggregator_ca', 3],
  ['tokens', 5],
] as const)(
  'its secrets %s are rotated, in the configurations of %i servers',
  async (what, count) => {
    const bundle = async () =>
      (await backend.domains.clusters.secrets.bundle(backend.platform.db, id))!
    const before = await bundle()
    const texts = nodes.map(configOf)
    await run({ kind: 'rotate', what })
    expect(await bundle()).not.toEqual(before)
    expect(nodes.map(configOf).filter((text, i) => text !== texts[i])).toHaveLength(count)
  },
)

test('its data is saved and restored, and the workload is as it was', async () => {
  const hand = () => handOn(world.simulator.world, 'web')!
  const identity = hand().addWorkload({ name: 'shop', replicas: 2, minAvailable: 1 })
  const folder = path.join(backend.config.dataFolder, 'stores/disk')
  const store = await admin.call(storeCreate, { body: { name: 'disk', kind: 'folder', folder } })
  const taken = await run({ kind: 'snapshot', store_id: store.answer!.id })
  const snapshot = (await admin.call(snapshotGet, { params: { id: taken } })).answer!
  hand().addWorkload({ name: 'later', replicas: 1, minAvailable: 0 })
  const reset = nodes.slice(0, 3).map((node) => node.id)
  await run({ kind: 'restore', snapshot_id: snapshot.id, reset })
  expect(
    hand()
      .show()
      .workloads.map((w) => [w.name, w.identity]),
  ).toEqual([['shop', identity]])
})

test('a control plane is replaced and a worker is added, both with documents', async () => {
  const [spare, more] = world.take(2) as [Server, Server]
  const replaced = nodes[2]!
  await run({ kind: 'replace', node_id: replaced.id, by: { node_id: spare.id } }, [
    ...others,
    spare,
  ])
  await run({ kind: 'grow', servers: [{ node_id: more.id, role: 'worker' }] }, [
    ...others,
    spare,
    more,
  ])
  expect(await world.cluster(id)).toMatchObject({ control_planes: 3, workers: 3 })
})
