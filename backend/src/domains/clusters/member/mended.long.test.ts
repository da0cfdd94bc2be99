import { expect, test } from 'vitest'
import { type Operation, operationRetry } from '#contract/operations.ts'
import { contentOf } from '#contract/disks/choice.ts'
import type { Server } from '#contract/servers/servers.ts'
import { addFault, clearFaults } from '#simulator/src/machine/trouble.ts'
import { onEachMinor } from '../testing/minors.ts'
import { clusterWorld } from '../testing/world.ts'

/**
 * The speed of the machines in the tests that look at an installation, which takes two seconds
 * then.
 */
const slow = 4

onEachMinor(async (minor) => {
  // The disk of the first server has a serial and no WWID.
  const world = await clusterWorld({
    servers: 4,
    minor,
    special: { 1: { missing_disks: true, media: ['virtio'] } },
  })
  // Since Talos 1.14 a failed installation goes on from memory, without a restart.
  const goesOn = minor.minor !== '1.13'

  /**
   * The reasons that the cluster, and the server's step of this kind, have shown until the operation
   * ended.
   */
  async function shownUntilEnded(operation: Operation, node: Server) {
    const said = { cluster: new Set<string>(), server: new Set<string>(), disks: new Set<string>() }
    const end = await world.until(
      async () => {
        const [now, server] = await Promise.all([
          world.operation(operation.id),
          world.server(node.id),
        ])
        if (now.reason) said.cluster.add(now.reason)
        for (const { key, reason } of now.steps)
          if (reason && key.endsWith(`/${node.id}`)) said.server.add(reason)
        for (const disk of server.resources.disks) said.disks.add(contentOf(disk))
        return now
      },
      ({ status }) => ['done', 'failed', 'cancelled'].includes(status),
    )
    return { end, cluster: [...said.cluster], server: [...said.server], disks: [...said.disks] }
  }

  test(
    'a server on which GRUB could not be installed becomes Ready with no hand, and shows the cause until then',
    { timeout: 600_000 },
    async () => {
      world.simulator.world.clock.setSpeed(slow)
      const [node] = world.take(1)
      const machine = world.machine(node!)
      expect(node!.resources.disks).toMatchObject([
        { id: 'vda', serial: expect.stringMatching(/./) as string },
      ])
      await addFault(machine, { kind: 'fail-install', times: 1, when: 'boot-loader' })
      const { operation } = await world.create([node!])
      const { end, cluster, server, disks } = await shownUntilEnded(operation, node!)
      expect(end).toMatchObject({ status: 'done' })
      expect(machine.disk.state.counters).toMatchObject({
        failedInstalls: 1,
        installs: 1,
        bootstraps: 1,
      })
      // The server runs what the boot loader of its disk has started.
      expect(machine.bootedFromDisk).toBe(true)

      const cause =
        'task "upgrade" failed: exit code 1: failed to install bootloader: failed to install grub: exit status 1: '
      const grub = 'failed to install grub: exit status 1: '
      const said = goesOn
        ? [`since Talos was to be installed there: ${cause}`]
        : [`is half installed: ${cause}`, 'It is restarted by force, because']
      for (const part of [...said, 'The server came back in maintenance: '])
        expect(server.filter((reason) => reason.includes(part)).join()).toContain(grub)
      expect(cluster).toEqual(
        expect.arrayContaining([expect.stringContaining(`to install and restart: ${cause}`)]),
      )
      for (const reason of [...server, ...cluster])
        expect(reason).not.toMatch(/Usage|--|canceled|controller-runtime|no reason was reported/)
      // A disk that was just wiped has no partitions to be confirmed.
      expect(disks.filter((content) => content.includes('partitions'))).toEqual([])
    },
  )

  // Talos 1.14 goes on in the boot in which its disk is half installed, so the disk is not wiped there.
  test.runIf(!goesOn)(
    'a restart that hangs before the server has joined is forced after two minutes, and the step says so',
    { timeout: 600_000 },
    async () => {
      world.simulator.world.clock.setSpeed(slow)
      const [node] = world.take(1)
      const machine = world.machine(node!)
      await addFault(machine, { kind: 'fail-install', times: 1, when: 'boot-loader' })
      // Somebody restarts the server as soon as it runs from memory. Talos then waits for the disk
      // that was wiped.
      let isRestarted = false
      machine.journal.watch(() => {
        if (
          isRestarted ||
          !machine.journal.kernelLines
            .since(0)
            .some((line) => line.endsWith('install sequence: 0 phase(s)'))
        )
          return
        isRestarted = true
        machine.lifecycle.request({ kind: 'reboot' })
      })
      const { operation } = await world.create([node!])
      const step = async () =>
        (await world.operation(operation.id)).steps
          .filter((s) => s.key.endsWith(`/${node!.id}`))
          .flatMap((s) => s.reason ?? [])
      const phase = () =>
        machine.journal.kernelLines
          .since(0)
          .some((line) => line.endsWith('task teardownLifecycle (1/1): starting'))
      await world.until(
        async () => ({ phase: phase(), step: await step() }),
        (now) => now.phase && now.step.some((reason) => reason.endsWith('is rebooting')),
      )
      // The log is queried at once when the stage changes, so the phase has been seen.
      world.backend.clock.advance(130_000)
      await world.until(step, (reasons) =>
        reasons.some((reason) =>
          reason.endsWith(
            'has been at the phase volumeFinalize (7/10) of its restart for 2 min. It is restarted by force',
          ),
        ),
      )
      expect(await world.ended(operation.id)).toMatchObject({ status: 'done' })
      expect(machine.disk.state.counters).toMatchObject({ installs: 1, bootstraps: 1 })
    },
  )

  test(
    'an image that was not found and is being pulled now is no reason any more, and the last message is one of the pull',
    { timeout: 600_000 },
    async () => {
      world.simulator.world.clock.setSpeed(slow)
      const [node] = world.take(1)
      const machine = world.machine(node!)
      await addFault(machine, { kind: 'no-image' })
      const { operation, cluster } = await world.create([node!])
      const reason = async () =>
        (await world.operation(operation.id)).steps.find((s) => s.key === `install/${node!.id}`)!
          .reason ?? ''
      await world.until(reason, (shown) =>
        /^Installing since \d\d:\d\d UTC: failed to pull image/.test(shown),
      )
      const ofCluster = async () => (await world.cluster(cluster.id)).reason ?? ''
      await world.until(ofCluster, (shown) =>
        /to install and restart: failed to pull image/.test(shown),
      )
      machine.disk.change((state) => (state.faults = [{ kind: 'endless-pull' }]))
      machine.journal.changed()
      await world.until(reason, (shown) =>
        /^Installing since \d\d:\d\d UTC; last message of Talos: pulling image \S+: downloading 1 layers \(.*\)\.\.\.$/.test(
          shown,
        ),
      )
      await world.until(ofCluster, (shown) => shown.endsWith('to install and restart'))
      await clearFaults(machine)
      expect(await world.ended(operation.id)).toMatchObject({ status: 'done' })
    },
  )

  test(
    'a disk that does not boot after further installations is a failure that says what to do, and no other disk was wiped; a retry installs again',
    { timeout: 600_000 },
    async () => {
      world.simulator.world.clock.setSpeed(slow)
      const [node] = world.take(1)
      const machine = world.machine(node!)
      const installDisk = machine.hardware.disks[0]!.name
      await addFault(machine, { kind: 'fail-install', times: 100, when: 'boot-loader' })
      const { operation, cluster } = await world.create([node!])
      const { end } = await shownUntilEnded(operation, node!)
      expect(end.status).toBe('failed')
      expect(end.reason).toMatch(
        goesOn
          ? /has not booted from \S+ since Talos was to be installed there: .*failed to install grub.* The server was reset and installed again, with the same result\. Look at the disk and at how the firmware boots/
          : /came back in maintenance after 5 installations: .*failed to install grub/,
      )
      expect((await world.cluster(cluster.id)).status).toBe('failed')
      const { counters, wiped = [] } = machine.disk.state
      expect(counters).toMatchObject({ bootstrapCalls: 0, resets: goesOn ? 1 : 0, installs: 0 })
      expect(wiped.filter((disk) => disk !== installDisk)).toEqual([])

      await clearFaults(machine)
      expect(
        (await world.admin.call(operationRetry, { params: { id: operation.id } })).status,
      ).toBe(200)
      expect(await world.ended(operation.id)).toMatchObject({ status: 'done' })
      expect(machine.bootedFromDisk).toBe(true)
    },
  )
})
