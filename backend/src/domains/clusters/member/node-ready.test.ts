import { expect, test } from 'vitest'
import { serverCommands } from '#contract/servers/servers.ts'
import type { MachineCommand } from '#contract/servers/machine-commands.ts'
import { addFault, clearFaults } from '#simulator/src/machine/trouble.ts'
import { onEachMinor } from '../testing/minors.ts'
import { clusterWorld } from '../testing/world.ts'

onEachMinor(async (minor) => {
  const world = await clusterWorld({ minor, servers: 3 })
  const nodes = world.take(2)
  const [, worker] = nodes
  const { cluster, operation: creation } = await world.create(nodes)
  await world.ended(creation.id)
  const machine = world.machine(worker!)

  /** Requests the command, and returns its operation when it waits for the node. */
  const waiting = async (command: MachineCommand, why: RegExp) => {
    await addFault(machine, { kind: 'boots-never-ready' })
    const { answer } = await world.admin.call(serverCommands[command], {
      params: { id: worker!.id },
    })
    return world.until(
      () => world.operation(answer!.operation.id),
      ({ steps, ended_at }) =>
        ended_at !== null || (steps[1]!.status === 'waiting' && why.test(steps[1]!.reason ?? '')),
    )
  }
  const notReady = new RegExp(`^${worker!.name} is not Ready: `)

  test.each(['serverRestartKubelet', 'serverReboot'] as const)(
    '%s ends when the node is Ready again, and says until then what it waits for',
    async (command) => {
      const { id, ended_at } = await waiting(command, notReady)
      expect(ended_at).toBeNull()
      expect(machine.nodeReady).toBe(false)
      await clearFaults(machine)
      expect(await world.ended(id)).toMatchObject({ status: 'done', reason: null })
      expect(machine.nodeReady).toBe(true)
    },
  )

  test('a server that is added joins only when its node is Ready', async () => {
    const [added] = world.take(1)
    const late = world.machine(added!)
    await addFault(late, { kind: 'boots-never-ready' })
    const { id } = await world.change(cluster.id, {
      kind: 'grow',
      servers: [{ node_id: added!.id, role: 'worker' }],
    })
    const { steps, ended_at } = await world.until(
      () => world.operation(id),
      ({ steps: all, ended_at: over }) =>
        over !== null || all.some(({ key, reason }) => key.startsWith('join/') && reason !== null),
    )
    expect(ended_at).toBeNull()
    expect(steps.find(({ key }) => key.startsWith('join/'))!.status).not.toBe('done')
    await clearFaults(late)
    expect((await world.ended(id)).status).toBe('done')
    expect(late.nodeReady).toBe(true)
  })

  test('a patch that restarts a server is done only when its node is Ready', async () => {
    await addFault(machine, { kind: 'boots-never-ready' })
    const { id } = await world.change(cluster.id, {
      kind: 'configure',
      node_ids: [worker!.id],
      patches: [{ name: 'devices', body: 'machine:\n  udev:\n    rules: [SUBSYSTEM=="drm"]\n' }],
      remove: [],
    })
    const waits = await world.until(
      () => world.operation(id),
      ({ steps, ended_at }) =>
        ended_at !== null || steps.some(({ reason }) => notReady.test(reason ?? '')),
    )
    expect(waits.ended_at).toBeNull()
    await clearFaults(machine)
    expect((await world.ended(id)).status).toBe('done')
    expect(machine.nodeReady).toBe(true)
  })
})
