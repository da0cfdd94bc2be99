import { expect, test } from 'vitest'
import { clusterKubeconfig, clusterTalosconfig } from '#contract/clusters/clusters.ts'
import { operationGet, operationRetry } from '#contract/operations.ts'
import { type Server, serverGet } from '#contract/servers/servers.ts'
import { addFault, clearFaults } from '#simulator/src/machine/trouble.ts'
import { onEachMinor } from '../testing/minors.ts'
import { clusterWorld } from '../testing/world.ts'

/**
 * How much faster these machines are than real ones. Talos waits 10 s before the restart after a
 * failed installation, the simulation 3.5 s at speed 1.
 */
const hurry = 2
const realSpeed = 3.5 / 10

const failures = [
  {
    // An installer that cannot be pulled.
    fault: { kind: 'no-image' },
    begins: /retrying error: failed to pull image/,
    says: /^Installing since \d\d:\d\d UTC: failed to pull image ".+": failed to resolve image: dial tcp: i\/o timeout$/,
  },
  {
    // An installer that fails early.
    fault: { kind: 'fail-install', times: 5, when: 'before-partitioning' },
    begins: /task install \(1\/1\): failed/,
    says: /^The installation failed: task "upgrade" failed: exit code 1: failed to zero blockdevice \/dev\/\w+: input\/output error\. /,
  },
  {
    // An installer that fails after partitioning.
    fault: { kind: 'fail-install', times: 5, when: 'after-partitioning' },
    begins: /task install \(1\/1\): failed/,
    says: /^The installation failed: task "upgrade" failed: exit code 1: failed to install bootloader: write \/dev\/\w+: input\/output error\. /,
  },
  {
    // An installer that never ends.
    fault: { kind: 'endless-install' },
    begins: /created META/,
    says: /^Installing since \d\d:\d\d UTC; last message of Talos: created META \(.+\)$/,
  },
] as const

/** Talos 1.14 tries again by itself while it boots, or goes on from memory. */
const since114 = [
  failures[0],
  {
    fault: { kind: 'fail-install', times: 1_000, when: 'before-partitioning' },
    begins: /controller failed .*UnattendedInstallController/,
    says: /attempt (?:[2-9]|\d\d+)\b.* failed: task "upgrade" failed: exit code 1: failed to zero blockdevice \/dev\/\w+: input\/output error/i,
  },
  {
    fault: { kind: 'fail-install', times: 5, when: 'after-partitioning' },
    begins: /controller failed .*UnattendedInstallController/,
    says: /since Talos was to be installed there: task "upgrade" failed: exit code 1: failed to install bootloader: write \/dev\/\w+: input\/output error\. /,
  },
  failures[3],
] as const

onEachMinor(async (minor) => {
  const cases = minor.minor === '1.13' ? failures : since114

  // The clock of this world jumps, so no other test uses it.
  const world = await clusterWorld({
    minor,
    servers: cases.length,
  })

  test(
    "if an installation does not finish, its step shows Talos's error message",
    { timeout: 600_000 },
    async () => {
      world.simulator.world.clock.setSpeed(realSpeed * hurry)
      const shown = async (
        { fault, begins, says }: (typeof cases)[number],
        node: Server,
      ): Promise<string> => {
        await addFault(world.machine(node), fault)
        const { operation } = await world.create([node])
        const lines = world.machine(node).journal.kernelLines
        await world.until(
          async () => lines.since(0),
          (all) => all.some((line) => begins.test(line)),
        )
        await world.until(
          async () =>
            (await world.operation(operation.id)).steps.find(
              (s) => s.key === `install/${node.id}`,
            )!,
          (step) => says.test(step.reason ?? ''),
        )
        return operation.id
      }
      const nodes = world.take(cases.length)
      const operations = await Promise.all(cases.map((one, i) => shown(one, nodes[i]!)))

      const [endless, node] = [operations.at(-1)!, nodes.at(-1)!]
      // talosctl can inspect a hanging machine, although there is no Kubernetes yet.
      const { id } = (await world.server(node.id)).cluster!
      expect(await world.cluster(id)).toMatchObject({ status: 'installing', talos_answers: true })
      expect(await world.admin.call(clusterTalosconfig, { params: { id } })).toMatchObject({
        status: 200,
        text: expect.stringContaining('endpoints:') as string,
      })
      expect(await world.admin.call(clusterKubeconfig, { params: { id } })).toMatchObject({
        status: 409,
      })
      expect(await world.server(node.id)).toMatchObject({ status: 'maintenance' })
      world.backend.clock.advance(31 * 60_000)
      // Tokens last ten minutes, so users sign in again.
      const admin = await world.backend.signIn({ role: 'admin' })
      const read = async () => (await admin.call(operationGet, { params: { id: endless } })).answer!
      const failed = await world.until(read, (o) => o.status === 'failed')
      expect(failed.reason).toMatch(
        /: Not done after 31 min(?:, and nothing new for 31 min)?\. Installing since \d\d:\d\d UTC; last message of Talos: created META /,
      )

      await clearFaults(world.machine(node))
      world.simulator.world.clock.setSpeed(100)
      expect((await admin.call(operationRetry, { params: { id: endless } })).status).toBe(200)
      // The test waits only for the boot: the backend's clock is ahead, so the machine refuses the
      // backend's certificates as not valid yet.
      await world.until(read, (o) =>
        o.steps.some((s) => s.key === `boot/${node.id}` && s.status === 'done'),
      )
      // The server runs its configuration, whatever Kubernetes reports.
      expect((await admin.call(serverGet, { params: { id: node.id } })).answer).toMatchObject({
        status: 'ready',
        kubernetes: null,
      })
      expect(world.machine(node).disk.state.counters).toMatchObject({ installs: 1, applies: 1 })

      // The operation stops for a user: a machine in maintenance proves nothing, and the server has
      // proved itself before.
      const machine = world.machine(node)
      await machine.lifecycle.powerOff()
      machine.disk.change((state) => (state.config = null))
      machine.lifecycle.powerOn()
      const lost = await world.until(read, (o) => o.status === 'failed')
      expect(lost.reason).toContain(
        'has lost its configuration, or another machine has its address',
      )
      expect((await admin.call(serverGet, { params: { id: node.id } })).answer).toMatchObject({
        status: 'ready',
      })
    },
  )
})
