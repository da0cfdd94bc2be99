/** A change of patches that ends before each of its servers has got them. */
import { expect, test } from 'vitest'
import { operationCancel } from '#contract/operations.ts'
import { type Server, serverConfig, serverRemove } from '#contract/servers/servers.ts'
import { addFault, clearFaults } from '#simulator/src/machine/trouble.ts'
import { effectsOf } from '../../clusters/testing/effects.ts'
import { clusterWorld } from '../../clusters/testing/world.ts'
import { longTest } from '../../../../../tools/testing/long-test.ts'

const world = await clusterWorld({ servers: 4 })
const { admin } = world
const { holdAt } = effectsOf(world)
const nodes = world.take(4)
const { cluster, operation: creation } = await world.create(nodes)
await world.ended(creation.id)

const sysctl = (key: string, value: string) => `machine:\n  sysctls:\n    ${key}: "${value}"\n`
const patchNamed = (name: string, body: string) => ({ name, weight: 500, labels: {}, body })
const configureWith = (patch: ReturnType<typeof patchNamed>, more: object) => ({
  kind: 'configure' as const,
  patches: [patch],
  ...more,
})
/** With double quotes, because a document that is written again may get others. */
const configOf = (node: { id: string }) =>
  (world.machine(node).disk.state.config ?? '').replaceAll("'", '"')

test('a cancel before anything is sent to a server leaves its former configuration the wanted one', async () => {
  const [first, second, , worker] = nodes as [Server, Server, Server, Server]
  const wanted = async () => (await admin.call(serverConfig, { params: { id: first.id } })).text
  const before = await wanted()
  const patch = patchNamed('unsent', sysctl('vm.swappiness', '71'))
  const change = configureWith(patch, { node_ids: [worker.id, first.id] })
  const held = holdAt(`configure/${worker.id}`, 'before')
  const { id } = await world.change(cluster.id, change)
  await held.reached()
  await addFault(world.machine(second), {
    kind: 'component-fails',
    component: 'kube-scheduler',
    config: 'machine:',
  })
  await world.until(
    async () => world.machine(second).staticPods.get('kube-scheduler')?.isCrashing,
    (is) => is === true,
  )
  held.release()
  const why = `${first.name} is changed as soon as the other control planes are well. `
  await world.until(
    () => world.operation(id),
    ({ steps }) =>
      steps.some((s) => s.key === `configure/${first.id}` && s.reason?.startsWith(why) === true),
  )
  expect(await wanted()).toContain('vm.swappiness: "71"')
  await admin.call(operationCancel, { params: { id } })
  expect(await world.ended(id)).toMatchObject({ status: 'cancelled' })
  await clearFaults(world.machine(second))
  expect(await wanted()).toBe(before)
  expect(configOf(worker)).toContain('vm.swappiness: "71"')
})

longTest('a change goes on without a server that is removed by force meanwhile', async () => {
  const [next, , , gone] = nodes as [Server, Server, Server, Server]
  await addFault(world.machine(gone), { kind: 'component-fails', component: 'kubelet' })
  world.machine(gone).restartKubelet?.()
  await expect.poll(() => world.machine(gone).nodeReady).toBe(false)
  const patch = patchNamed('gone', sysctl('vm.swappiness', '78'))
  const { id } = await world.change(
    cluster.id,
    configureWith(patch, { node_ids: [gone.id, next.id] }),
  )
  const key = `node-ready/${gone.id}`
  await world.until(
    () => world.operation(id),
    ({ steps }) => steps.some((s) => s.key === key && s.status === 'waiting'),
  )
  await world.machine(gone).lifecycle.powerOff()
  await world.until(
    () => world.server(gone.id),
    (s) => s.talos.reachable === false,
  )
  const forced = await admin.call(serverRemove, {
    params: { id: gone.id },
    query: { force: 'true' },
  })
  expect(forced.problem).toBeUndefined()
  const ended = await world.ended(id)
  expect(ended).toMatchObject({ status: 'done' })
  expect(ended.steps.find((s) => s.key === key)).toMatchObject({
    status: 'skipped',
    reason: `${gone.name} has left the cluster`,
  })
  expect(configOf(next)).toContain('vm.swappiness: "78"')
})
