/** Changes of a server's network on trial: confirmed, undone, and followed up after a crash. */
import { beforeAll, expect, test } from 'vitest'
import type { Cluster } from '#contract/clusters/clusters.ts'
import { patchCreate, patchPreview, patchRemove } from '#contract/patches.ts'
import { type Server, serverEvents } from '#contract/servers/servers.ts'
import { addFault } from '#simulator/src/machine/trouble.ts'
import { inTransaction } from '../../../db/db.ts'
import { system } from '../../../http/caller.ts'
import { clusterWorld } from '../../clusters/testing/world.ts'
import { configuringQueue } from '../api.ts'

const world = await clusterWorld({ servers: 2, seed: 'trials' })
const { admin, backend } = world
let worker: Server
let cluster: Cluster

beforeAll(async () => {
  const nodes = world.take(2)
  worker = nodes[1]!
  const made = await world.create(nodes)
  const { status, reason } = await world.ended(made.operation.id)
  if (status !== 'done') throw new Error(`The cluster was not made: ${reason}`)
  cluster = await world.cluster(made.cluster.id)
}, 600_000)

const machine = () => world.machine(worker)
const params = () => ({ id: worker.id })
const link = () => machine().managementLink.name
/** A change of a network after which the server is still reached. */
const dhcp = () => `apiVersion: v1alpha1\nkind: DHCPv4Config\nname: ${link()}\n`
const rule = (name: string) =>
  `apiVersion: v1alpha1\nkind: NetworkRuleConfig\nname: ${name}\nportSelector:\n  ports: [9100]\n  protocol: tcp\ningress:\n  - subnet: 10.0.0.0/8\n`
const stored = () => machine().disk.state.config ?? ''
const applies = () => machine().disk.state.counters.applies
const events = async () => {
  await backend.publish()
  return (await admin.call(serverEvents, { params: params() })).answer!.items
}
const patch = async (name: string, body: string) => {
  const made = await admin.call(patchCreate, { params: params(), body: { name, body } })
  if (!made.answer) throw new Error(made.text)
  return made.answer
}
/** Saves a patch without a check, so that only the trial saves the server. */
const below = (name: string, body: string) =>
  inTransaction(backend.platform.db, async (tx) => {
    const { patches, configurations } = backend.domains
    await patches.createIn(tx, system, worker.id, { name, body, weight: 500, labels: {} })
    await configurations.renderAgain(tx, cluster.id, worker.id)
    await backend.platform.engine.wake(tx, configuringQueue, worker.id)
  })
const settled = () =>
  world.until(
    () => world.server(worker.id),
    ({ trial }) => trial === null,
  )

test('a change of the network is tried first, and confirmed on a new connection', async () => {
  const before = applies()
  const { patch_id } = await patch('dhcp', dhcp())
  await world.until(
    () => Promise.resolve(stored()),
    (yaml) => yaml.includes('DHCPv4Config'),
  )
  await settled()
  // One call on trial and one for good.
  expect(applies() - before).toBe(2)
  expect(machine().cancelTry).toBeNull()
  expect((await events()).map((e) => e.type)).toEqual(
    expect.arrayContaining(['server.change_tried', 'server.configured']),
  )
  expect(await world.server(worker.id)).toMatchObject({ drift: null, trial: null })
  await admin.call(patchRemove, { params: { ...params(), patchId: patch_id } })
  await world.until(
    () => Promise.resolve(stored()),
    (yaml) => !yaml.includes('DHCPv4Config'),
  )
  await settled()
})

test('a change of something else is sent at once', async () => {
  const before = applies()
  const { patch_id } = await patch('swap', 'machine:\n  sysctls:\n    vm.swappiness: "7"\n')
  await world.until(
    () => Promise.resolve(stored()),
    (yaml) => yaml.includes('swappiness'),
  )
  expect(applies() - before).toBe(1)
  await admin.call(patchRemove, { params: { ...params(), patchId: patch_id } })
  await world.until(
    () => Promise.resolve(stored()),
    (yaml) => !yaml.includes('swappiness'),
  )
})

test('a lost answer is looked up: the change is not sent twice', async () => {
  const before = applies()
  await addFault(machine(), { kind: 'lost-reply', method: 'ApplyConfiguration', times: 1 })
  await below('rule-a', rule('rule-a'))
  await world.until(
    () => Promise.resolve(stored()),
    (yaml) => yaml.includes('rule-a'),
  )
  await settled()
  expect(applies() - before).toBe(2)
})

test('a change that is saved during a trial is sent after it, and dry runs do not end it', async () => {
  const before = applies()
  await below('rule-b', rule('rule-b'))
  await world.until(
    () => world.server(worker.id),
    ({ trial }) => trial?.state === 'running',
  )
  const preview = await admin.call(patchPreview, {
    params: params(),
    body: { name: 'rule-c', body: rule('rule-c') },
  })
  expect(preview.status).toBe(200)
  await patch('rule-c', rule('rule-c'))
  await world.until(
    () => Promise.resolve(stored()),
    (yaml) => yaml.includes('rule-c'),
  )
  await settled()
  expect(stored()).toContain('rule-b')
  // Both were tried and confirmed.
  expect(applies() - before).toBe(4)
  expect(await world.server(worker.id)).toMatchObject({ drift: null })
  expect(await world.cluster(cluster.id)).toMatchObject({ status: 'ready' })
})
