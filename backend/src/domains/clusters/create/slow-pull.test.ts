import { expect, test } from 'vitest'
import { hasEnded } from '#contract/operations.ts'
import { releaseOf } from '#simulator/src/config/versions.ts'
import { addFault, clearFaults } from '#simulator/src/machine/trouble.ts'
import { longTest } from '../../../../../tools/testing/long-test.ts'
import { onEachMinor } from '../testing/minors.ts'
import { clusterWorld } from '../testing/world.ts'
import { breakMs } from '../whole/etcd-order.ts'
onEachMinor(async (minor) => {
  // Each Bootstrap call stops etcd and begins the pull of its image again, as Talos does.
  const world = await clusterWorld({ minor, servers: 3 })
  const { etcd } = releaseOf(Number(minor.minor.split('.')[1]))
  const image = `registry.k8s.io/etcd:${etcd}`

  /**
   * Waits until the operation has ended, while the clocks of the machines and of Steelyard go `speed`
   * times as fast as real time.
   */
  async function endedFast(operationId: string, speed: number): Promise<void> {
    world.simulator.world.clock.setSpeed(speed)
    let last = Date.now()
    await world.until(async () => {
      const passed = Date.now() - last
      last += passed
      world.backend.clock.advance(passed * (speed - 1))
      return world.operation(operationId)
    }, hasEnded)
    world.simulator.world.clock.setSpeed(100)
  }

  test('an image of etcd that is pulled for 40 s is waited for: one Bootstrap call, and the steps say what is pulled', async () => {
    const [node] = world.take(1)
    const machine = world.machine(node!)
    await addFault(machine, { kind: 'slow-pull', image: '/etcd:', ms: 40_000 })
    // The pull stands almost still until both steps were read.
    const stopWatching = machine.journal.watch(() => {
      if (
        machine.journal.kernelLines.since(0).some((line) => line.includes(`pulling image ${image}`))
      )
        world.simulator.world.clock.setSpeed(0.05)
    })
    const { cluster, operation } = await world.create([node!])
    const says = (key: string, sentence: string) =>
      world.until(
        async () => (await world.operation(operation.id)).steps.find((step) => step.key === key)!,
        ({ reason }) => reason?.startsWith(sentence) === true,
      )
    await says('bootstrap', `etcd's image ${image} is being pulled on ${node!.name}`)
    await says(`etcd/${node!.id}`, `etcd's image ${image} is being pulled`)
    stopWatching()
    await endedFast(operation.id, 20)
    expect((await world.operation(operation.id)).status).toBe('done')
    expect(machine.disk.state.counters).toMatchObject({ bootstrapCalls: 1, bootstraps: 1 })
    expect(world.etcds(cluster.name)).toBe(1)
  })

  longTest(
    'a restart of the server during the pull undoes the bootstrap, so it is sent once more',
    async () => {
      const [node] = world.take(1)
      const machine = world.machine(node!)
      await addFault(machine, { kind: 'slow-pull', image: '/etcd:', ms: 300_000 })
      const { cluster, operation } = await world.create([node!])
      const calls = async () => machine.disk.state.counters.bootstrapCalls
      await world.until(calls, (made) => made === 1)
      await machine.lifecycle.powerOff()
      machine.lifecycle.powerOn()
      expect((await world.ended(operation.id)).status).toBe('done')
      expect(machine.disk.state.counters).toMatchObject({ bootstrapCalls: 2, bootstraps: 1 })
      expect(world.etcds(cluster.name)).toBe(1)
    },
  )

  test('an image of etcd that no registry has is named, and etcd is started again until a registry has it', async () => {
    const [node] = world.take(1)
    const machine = world.machine(node!)
    await addFault(machine, { kind: 'image-missing', image: '/etcd:' })
    const { cluster, operation } = await world.create([node!])
    const { reason } = await world.until(
      async () =>
        (await world.operation(operation.id)).steps.find(({ key }) => key === 'bootstrap')!,
      (step) => step.reason?.startsWith('etcd failed on ') === true,
    )
    expect(reason).toMatch(
      /: Failed to run pre stage: failed to pull image ".*\/etcd:v?[\d.]+": .*not found\. It is started again$/,
    )
    expect(machine.disk.state.counters.bootstrapCalls).toBe(1)
    await clearFaults(machine)
    world.backend.clock.advance(breakMs)
    expect((await world.ended(operation.id)).status).toBe('done')
    expect(machine.disk.state.counters).toMatchObject({ bootstrapCalls: 2, bootstraps: 1 })
    expect(world.etcds(cluster.name)).toBe(1)
  })
})
