/** Phases that take minutes before a machine stops, and that fail. */
import { expect, test } from 'vitest'
import type { SlowPhase } from './fleet/faults.ts'
import type { Machine } from './machine/machine.ts'
import { addFault } from './machine/trouble.ts'
import { cluster, fleet, openSecure, rack, until } from './testing/fleet.ts'

const slow = (machine: Machine, phase: SlowPhase, fails: boolean, ms = 300_000) =>
  addFault(machine, { kind: 'slow-stop', phase, ms, fails, times: 1 })
const kernelHas = (machine: Machine, text: string): boolean =>
  machine.journal.kernelLines.since(0).some((line) => line.includes(text))
const runs = (machine: Machine): boolean => machine.stage.stage === 'running' && machine.stage.ready

test('a restart of Talos 1.14 may wait in three phases, in which the API answers, and then goes on', async () => {
  const simulator = await fleet({
    scenario: { ...rack(2), talos: ['v1.14.1'] },
    speed: 400,
  })
  const { bundle, workers } = await cluster(simulator, 1, 1)
  const worker = workers[0]!
  for (const phase of ['preShutdown', 'stopContainers', 'volumeFinalize'] as const)
    await slow(worker, phase, false)
  const { bootId } = worker
  await (await openSecure(worker, bundle)).reboot()
  await until('its extensions stop', () => kernelHas(worker, 'phase preShutdown (2/14)'))
  expect(worker.stage.stage).toBe('rebooting')
  expect(worker.services.isRunning('kubelet')).toBe(true)
  await until('its volumes are closed', () => kernelHas(worker, 'phase volumeFinalize (11/14)'))
  expect(worker.services.isRunning('kubelet')).toBe(false)
  expect(worker.nodeReady).toBe(false)
  expect((await (await openSecure(worker, bundle)).services()).length).toBeGreaterThan(0)
  await until('it has restarted', () => worker.bootId !== bootId && runs(worker))
})

test('a phase that fails ends a restart, an upgrade and a shutdown, but not a reset', async () => {
  const simulator = await fleet({ scenario: rack(2), speed: 400 })
  const { bundle, workers } = await cluster(simulator, 1, 1)
  const worker = workers[0]!
  const image = (version: string) =>
    `factory.talos.dev/metal-installer/${worker.schematic}:${version}`
  const restarted = async (act: () => Promise<unknown>): Promise<void> => {
    await until('it runs', () => runs(worker))
    await slow(worker, 'volumeFinalize', true)
    const { bootId } = worker
    await act()
    await until('the phase failed', () => kernelHas(worker, 'phase volumeFinalize'))
    await until('it has restarted', () => worker.bootId !== bootId && runs(worker))
  }
  const client = () => openSecure(worker, bundle)
  // The phases of Talos 1.14 are unknown to 1.13.
  await slow(worker, 'stopContainers', true)
  await restarted(async () => (await client()).reboot())
  expect(worker.disk.state.counters.reboots).toBe(0)
  await restarted(async () => (await client()).upgrade({ image: image('v1.13.8'), stage: false }))
  expect(worker.talosVersion).toBe('v1.13.9')

  await slow(worker, 'volumeFinalize', true)
  await (await client()).shutdown()
  await until('it is off', () => !worker.isOn)
  worker.lifecycle.powerOn()
  await until('it runs', () => runs(worker))
  await slow(worker, 'volumeFinalize', true)
  await (await client()).reset({ graceful: false, reboot: true })
  await until('it was reset', () => worker.stage.stage === 'maintenance')
  expect(worker.disk.state.installed).toBeNull()
})

test('a failed restart goes back to the former version as long as the new one was never ready', async () => {
  const simulator = await fleet({
    scenario: { ...rack(2), talos: ['v1.14.0'] },
    speed: 400,
  })
  const { bundle, workers } = await cluster(simulator, 1, 1)
  const worker = workers[0]!
  await addFault(worker, { kind: 'boots-never-ready' })
  const image = `factory.talos.dev/metal-installer/${worker.schematic}:v1.14.1`
  await (await openSecure(worker, bundle)).upgrade({ image, stage: false })
  await until(
    'the new version runs and is not ready',
    () => worker.talosVersion === 'v1.14.1' && worker.stage.stage === 'running',
  )
  await slow(worker, 'stopContainers', true)
  await (await openSecure(worker, bundle)).reboot()
  await until('the former version runs', () => worker.talosVersion === 'v1.14.0')
  expect(worker.disk.state.installed!.version).toBe('v1.14.0')
})

test('a failed hook of an extension ends a reset before etcd is left', async () => {
  const simulator = await fleet({
    scenario: { ...rack(1), talos: ['v1.14.1'] },
    speed: 400,
  })
  const { bundle, controlPlanes } = await cluster(simulator, 1, 0)
  const machine = controlPlanes[0]!
  await slow(machine, 'preShutdown', true)
  const { bootId } = machine
  await (await openSecure(machine, bundle)).reset({ graceful: false, reboot: true })
  await until('it has restarted', () => machine.bootId !== bootId && runs(machine))
  expect(machine.disk.state.counters.resets).toBe(0)
})
