import { createClient } from '@connectrpc/connect'
import { createGrpcTransport } from '@connectrpc/connect-node'
import { expect, test } from 'vitest'
import { readDisks } from '#talos/client/inventory.ts'
import { readInstallation } from '#talos/client/installation.ts'
import { orderState } from '#talos/client/orders.ts'
import { resources } from '#talos/client/resources.ts'
import { readTrouble } from '#talos/client/trouble.ts'
import { BlockVolumePhase } from '#talos/proto/gen/definitions/enums_pb.ts'
import { StorageService } from '#talos/proto/gen/storage/storage_pb.ts'
import type { Machine } from './machine/machine.ts'
import { addFault } from './machine/trouble.ts'
import {
  configFor,
  fleet,
  give,
  openMaintenance,
  openSecure,
  rack,
  secrets,
  until,
} from './testing/fleet.ts'

/** A machine whose installer has failed, back in maintenance. */
const halfInstalled = async (when: 'after-partitioning' | 'boot-loader') => {
  const simulator = await fleet({
    scenario: rack(1, { 1: { faults: [{ kind: 'fail-install', times: 1, when }] } }),
  })
  const machine = simulator.servers[0]!
  const bundle = await secrets()
  const config = configFor(bundle, machine, 'control_plane', machine.plan.address)
  await give(machine, config)
  await until(
    'the install failed',
    () => machine.disk.state.counters.failedInstalls === 1 && inMaintenance(machine),
  )
  const disk = machine.hardware.disks[0]!.name
  return { simulator, machine, bundle, config, disk, client: await openMaintenance(machine) }
}
const inMaintenance = (machine: Machine): boolean =>
  machine.mode === 'maintenance' && machine.stage.stage === 'maintenance'
const logged = (machine: Machine, end: string): boolean =>
  machine.journal.kernelLines.since(0).some((line) => line.endsWith(end))

test('an installer that fails after partitioning leaves META, so Talos counts as installed until the disk is wiped and the machine reboots', async () => {
  const { machine, bundle, config, disk, client } = await halfInstalled('after-partitioning')
  const other = machine.hardware.disks.at(-1)!.name
  expect(await readInstallation(client)).toEqual({ state: 'half', disk })
  await client.wipeDisk(other)
  expect((await readInstallation(client)).state).toBe('half')
  await client.wipeDisk(disk)
  expect(await readInstallation(client)).toEqual({ state: 'wiped', disk })
  // At boot the machine found the partition META. Talos therefore counts as installed, and the
  // configuration starts no installation.
  await give(machine, config)
  await until('it boots from memory', () => logged(machine, '[talos] install sequence: 0 phase(s)'))
  expect(machine.disk.state.counters.installs).toBe(0)
  expect(await readInstallation(await openSecure(machine, bundle))).toEqual({
    state: 'wiped',
    disk,
  })
  await (await openSecure(machine, bundle)).reboot({ mode: 'force' })
  await until('it is back', () => inMaintenance(machine))
  expect(await readInstallation(await openMaintenance(machine))).toEqual({
    state: 'none',
    disk: null,
  })
  await give(machine, config)
  await until('the install succeeded', () => machine.disk.state.counters.installs === 1)
  expect(machine.disk.state.half).toBeUndefined()
})

test('a wiped disk keeps its partitions, and the volume META its place, until the next boot, and a volume in use is wiped only past the check', async () => {
  const { machine, disk, client } = await halfInstalled('boot-loader')
  const storage = createClient(
    StorageService,
    createGrpcTransport({
      baseUrl: `https://${machine.plan.address}:50000`,
      nodeOptions: { rejectUnauthorized: false },
      idleConnectionTimeoutMs: 200,
    }),
  )
  const wipe = () => storage.blockDeviceWipe({ devices: [{ device: disk }] })
  await expect(wipe()).rejects.toMatchObject({
    rawMessage: `blockdevice "${disk}" is in use by volume "META"`,
  })
  expect((await readDisks(client)).find(({ id }) => id === disk)).toMatchObject({
    content: 'Talos',
  })
  await client.wipeDisk(disk)
  const { items } = await client.list(resources.discoveredVolume, {
    keep: ({ spec }) => spec.parent === disk,
  })
  expect(items.map(({ spec }) => [spec.name, spec.partitionLabel, spec.partitionIndex])).toEqual([
    ['vfat', '', 0n],
    ['', '', 0n],
    ['xfs', '', 0n],
    ['talosmeta', '', 0n],
    ['', '', 0n],
  ])
  expect((await readDisks(client)).find(({ id }) => id === disk)).toMatchObject({
    content: 'wiped',
  })
  const phases = async () =>
    Object.fromEntries(
      (await client.list(resources.volumeStatus)).items.map(({ id, spec }) => [id, spec.phase]),
    )
  expect(await phases()).toEqual({
    META: BlockVolumePhase.VOLUME_PHASE_READY,
    STATE: BlockVolumePhase.VOLUME_PHASE_FAILED,
  })
  await expect(wipe()).rejects.toMatchObject({
    rawMessage: `blockdevice "${disk}" is in use by volume "META"`,
  })
})

test.each(['default', 'powercycle'] as const)(
  'after the wipe a reboot in the mode %s stops at its volumes, and only the mode force ends it',
  async (mode) => {
    const { simulator, machine, bundle, config, disk, client } = await halfInstalled('boot-loader')
    await client.wipeDisk(disk)
    await give(machine, config)
    await until(
      'it boots from memory',
      () => logged(machine, '[talos] install sequence: 0 phase(s)') && machine.mode === 'secured',
    )
    const secure = await openSecure(machine, bundle)
    simulator.world.clock.setSpeed(1)
    const { bootId } = machine
    const { actorId } = await secure.reboot({ mode })
    await until('it hangs', () => logged(machine, '[talos] task teardownLifecycle (1/1): starting'))
    expect(await orderState(secure, { actorId }, 0)).toBe('begun')
    expect(await readTrouble(secure)).toMatchObject({
      reason: null,
      restartPhase: 'volumeFinalize (7/10)',
    })
    simulator.world.clock.setSpeed(10_000)
    await until('it fails', () => logged(machine, '[talos] reboot sequence: failed'))
    // It still answers, in the middle of its shutdown.
    expect(await secure.services()).toEqual(
      expect.arrayContaining([expect.objectContaining({ id: 'apid', state: 'Running' })]),
    )
    expect([machine.stage.stage, machine.bootId]).toEqual(['rebooting', bootId])
    expect(await readTrouble(secure)).toMatchObject({
      reason: null,
      restartPhase: 'volumeFinalize (7/10)',
    })
    // The answer arrives before the machine is off.
    simulator.world.clock.setSpeed(10)
    await secure.reboot({ mode: 'force' })
    await until('it is back', () => machine.bootId !== bootId && inMaintenance(machine))
  },
)

test('the output of a failing installer ends with its usage, and the reason is its error', async () => {
  const { machine, bundle } = await halfInstalled('boot-loader')
  await addFault(machine, { kind: 'fail-install', times: 1, when: 'before-partitioning' })
  await (await openMaintenance(machine)).wipeDisk(machine.hardware.disks[0]!.name)
  await machine.lifecycle.powerOff()
  machine.lifecycle.powerOn()
  await until('it is back', () => inMaintenance(machine))
  machine.world.clock.setSpeed(1)
  await give(machine, configFor(bundle, machine, 'control_plane', machine.plan.address))
  await until('it is being installed', () => machine.stage.stage === 'installing')
  // Talos accepts an order during an installation, and drops it.
  const secure = await openSecure(machine, bundle)
  expect(await orderState(secure, await secure.reboot(), 0)).toBe('refused')
  await until('it failed', () => logged(machine, '[talos] install sequence: failed'))
  const { reason, lines } = await readTrouble(await openSecure(machine, bundle))
  expect(
    machine.journal.kernelLines.since(0).filter((line) => line.includes('--disk string')),
  ).toHaveLength(1)
  expect(reason).toMatch(
    /^task "upgrade" failed: exit code 1: failed to zero blockdevice \/dev\/\w+: input\/output error$/,
  )
  expect(lines.join('\n')).not.toContain('--disk')
})
