/**
 * Servers that take minutes to stop, and whose restarts fail in between (Talos:
 * `v1alpha1_sequencer.go`, since 1.14 in two more phases).
 */
import { expect, test } from 'vitest'
import { operationRetry } from '#contract/operations.ts'
import type { Server } from '#contract/servers/servers.ts'
import type { SlowPhase } from '#simulator/src/fleet/faults.ts'
import { addFault } from '#simulator/src/machine/trouble.ts'
import { onEachMinor, olderThan } from '../testing/minors.ts'
import { clusterWorld } from '../testing/world.ts'

const phases: readonly SlowPhase[] = ['preShutdown', 'stopContainers', 'volumeFinalize']

onEachMinor(async (minor) => {
  const { talos: older } = olderThan(minor)
  const special = { 1: { second_network: true }, 4: { second_network: true } }
  const world = await clusterWorld({ minor, talos: older, servers: 5, seed: 'slow-stops', special })
  const slow = async (server: Server, fails: boolean): Promise<void> => {
    for (const phase of phases)
      await addFault(world.machine(server), {
        kind: 'slow-stop',
        phase,
        ms: 300_000,
        fails: fails && phase === 'volumeFinalize',
        times: 1,
      })
  }

  test('servers that take fifteen minutes to stop are upgraded and removed, and a failed reset is no harm', async () => {
    const nodes = world.take(3)
    const { cluster, operation } = await world.create(nodes, { talos_version: older })
    expect(await world.ended(operation.id)).toMatchObject({ status: 'done' })
    for (const node of nodes) await slow(node, false)
    const upgrade = await world.change(cluster.id, {
      kind: 'upgradeTalos',
      version: minor.version,
    })
    expect(await world.ended(upgrade.id)).toMatchObject({ status: 'done' })
    expect(nodes.map((n) => world.machine(n).talosVersion)).toEqual(nodes.map(() => minor.version))
    const last = nodes[2]!
    await slow(last, true)
    const { id } = await world.change(cluster.id, {
      kind: 'shrink',
      servers: [{ node_id: last.id }],
    })
    expect(await world.ended(id)).toMatchObject({ status: 'done' })
    expect(world.nodeNames(nodes[0]!)).not.toContain(last.name)
    expect((await world.recovered(cluster.id)).status).toBe('ready')
  })

  test('an upgrade whose restart fails ends with the old version, and goes on with Retry', async () => {
    const nodes = world.take(2)
    const { cluster, operation } = await world.create(nodes, { talos_version: older })
    expect(await world.ended(operation.id)).toMatchObject({ status: 'done' })
    await slow(nodes[1]!, true)
    const { id } = await world.change(cluster.id, {
      kind: 'upgradeTalos',
      version: minor.version,
    })
    const ended = await world.ended(id)
    expect(ended.status).toBe('failed')
    expect(ended.steps.find(({ status }) => status === 'failed')?.reason).toContain(
      `${nodes[1]!.name} came back with Talos ${older}`,
    )
    const called = await world.admin.call(operationRetry, { params: { id } })
    expect(called.status).toBe(200)
    expect(await world.ended(id)).toMatchObject({ status: 'done' })
  })
})
