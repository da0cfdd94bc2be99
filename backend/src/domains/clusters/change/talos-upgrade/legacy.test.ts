import { expect, test } from 'vitest'
import { hasEnded, operationGet, operationRetry } from '#contract/operations.ts'
import { addFault, clearFaults } from '#simulator/src/machine/trouble.ts'
import { clusterWorld } from '../../testing/world.ts'
import { stepsThat, upgradeWorld } from './testing.ts'

// The clock of this world jumps in the last test, so that certificates made after it are not valid yet for the machines.
const world = await clusterWorld({ servers: 5, talos: 'v1.12.11' })
const { ready, plan, versions, upgrades, cordoned } = upgradeWorld(world)
const upgrade = { kind: 'upgradeTalos' as const, version: 'v1.13.9' }

test('a version that does not run the Kubernetes of the cluster is refused', { timeout: 60_000 }, async () => {
  const { cluster } = await ready(1, { talos_version: 'v1.12.11', kubernetes_version: '1.30.14' })
  expect((await plan(cluster.id, upgrade)).checks.find((c) => c.check === 'path')).toMatchObject({
    ok: false,
    message: 'Talos 1.13 runs Kubernetes 1.31 to 1.36, not 1.30.14',
  })
})

test('servers of the minor before, which can not write an image ahead, are upgraded to the next minor', { timeout: 90_000 }, async () => {
  const { nodes, cluster } = await ready(2, { talos_version: 'v1.12.11', kubernetes_version: '1.35.4' })
  const ended = await world.ended((await world.change(cluster.id, upgrade)).id)
  expect(ended).toMatchObject({ status: 'done', reason: null })
  expect(ended.steps.map((s) => s.key.split('/')[0])).not.toContain('write')
  expect(versions(nodes)).toEqual(['v1.13.9', 'v1.13.9'])
  expect(upgrades(nodes)).toEqual([1, 1])
  expect(cordoned(nodes[0]!)).toEqual([])
  expect(await world.cluster(cluster.id)).toMatchObject({ talos_version: 'v1.13.9', kubernetes_version: '1.35.4' })
})

test('a server that hangs in an upgrade fails after its time with what is known of it, and a retry tells it again', { timeout: 120_000 }, async () => {
  const { nodes, cluster } = await ready(2, { talos_version: 'v1.12.11', kubernetes_version: '1.35.4' })
  const hanging = nodes[1]!
  const machine = world.machine(hanging)
  await addFault(machine, { kind: 'hang-upgrade' })
  const { id } = await world.change(cluster.id, upgrade)
  const key = `upgrade/${hanging.id}`
  await world.until(
    () => world.operation(id),
    (o) => o.steps.some((s) => s.key === key && s.status === 'waiting' && /was told to restart|is upgrading/.test(s.reason ?? '')),
  )
  world.backend.clock.advance(21 * 60_000)
  // Tokens last ten minutes, so the user signs in again.
  const admin = await world.backend.signIn({ role: 'admin' })
  const read = async () => (await admin.call(operationGet, { params: { id } })).answer!
  const failed = await world.until(read, hasEnded)
  expect(failed).toMatchObject({
    status: 'failed',
    reason: expect.stringMatching(`^Not done after 21 min. ${hanging.name} .*(was told to restart with Talos v1.13.9|is upgrading)`),
  })
  expect(stepsThat(failed, 'failed')).toEqual(['upgrade'])
  expect(upgrades(nodes)).toEqual([0, 0])

  await machine.lifecycle.powerOff()
  await clearFaults(machine)
  machine.lifecycle.powerOn()
  expect((await admin.call(operationRetry, { params: { id }, body: {} })).problem).toBeUndefined()
  await world.until(read, (o) => o.steps.some((s) => s.key === key && s.status === 'done'))
  expect(versions([hanging])).toEqual(['v1.13.9'])
  expect(upgrades([hanging])).toEqual([1])
})
