import { expect, test } from 'vitest'
import { clusterServerReplace } from '#contract/clusters/clusters.ts'
import { hasEnded, operationGet } from '#contract/operations.ts'
import { serverGet } from '#contract/servers/servers.ts'
import { addFault } from '#simulator/src/machine/trouble.ts'
import { clusterWorld } from '../testing/world.ts'

// The clock of this world jumps, so no other test uses it.
const world = await clusterWorld({ servers: 3 })

test('a server that dies during its installation is shown by name, times out and is replaced while the others continue', async () => {
  const nodes = world.take(2)
  const [spare] = world.take(1)
  const dead = nodes[1]!
  await addFault(world.machine(dead), { kind: 'vanish', stage: 'installing' })
  const { cluster, operation } = await world.create(nodes)
  await world.until(
    () => world.operation(operation.id),
    (o) =>
      o.steps.filter((s) => s.key.startsWith('join/') && s.status === 'done').length === 1 &&
      o.steps.some(
        (s) =>
          s.key === `install/${dead.id}` &&
          s.status === 'waiting' &&
          /^Installing, last seen \d\d:\d\d UTC: .+/.test(s.reason ?? ''),
      ),
  )
  expect(await world.cluster(cluster.id)).toMatchObject({
    status: 'installing',
    reason: expect.stringContaining(dead.name),
  })

  world.backend.clock.advance(31 * 60_000)
  // Tokens last ten minutes, so users sign in again.
  const admin = await world.backend.signIn({ role: 'admin' })
  const read = async (id: string) => (await admin.call(operationGet, { params: { id } })).answer!
  const failed = await world.until(() => read(operation.id), hasEnded)
  expect(failed).toMatchObject({
    status: 'failed',
    reason: expect.stringMatching(
      new RegExp(`^${dead.name}: Not done after 31 min. Installing, last seen`),
    ),
  })

  const replaced = await admin.call(clusterServerReplace, {
    params: { id: cluster.id, node_id: dead.id },
    body: { node_id: spare!.id },
  })
  expect(replaced.problem).toBeUndefined()
  const { operation: second } = replaced.answer!
  expect(second.kind).toBe('clusterServerReplace')
  const joined = await world.until(() => read(second.id), hasEnded)
  expect(joined).toMatchObject({ status: 'done' })
  expect(world.etcds(cluster.name)).toBe(1)
  // The dead server has a configuration, so it stays reserved until a contact shows that it has
  // none.
  expect((await admin.call(serverGet, { params: { id: dead.id } })).answer).toMatchObject({
    cluster: { name: cluster.name },
  })
  world.machine(dead).lifecycle.powerOn()
  await world.until(
    async () => (await admin.call(serverGet, { params: { id: dead.id } })).answer!,
    (s) => s.cluster === null && s.operation_id === null,
  )
}, 600_000)
