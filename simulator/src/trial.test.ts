import { describe, expect, test } from 'vitest'
import { readCertificate } from '#talos/client/connect.ts'
import { readFound } from '#talos/client/found.ts'
import type { Machine } from './machine/machine.ts'
import { goDuration, storeSoon } from './machine/trial.ts'
import {
  cluster,
  configFor,
  fleet,
  openMaintenance,
  openSecure,
  rack,
  secrets,
  until,
} from './testing/fleet.ts'

describe('a configuration on trial', () => {
  const onTrial = async () => {
    const simulator = await fleet({ scenario: rack(1) })
    const { bundle, controlPlanes } = await cluster(simulator, 1, 0)
    const machine = controlPlanes[0]!
    await until('STATE has it', () => machine.disk.state.config !== null)
    const before = machine.config!.text
    const withSan = (san: string) => before.replace('certSANs: []', `certSANs: [${san}]`)
    return { machine, bundle, client: await openSecure(machine, bundle), before, withSan }
  }
  const answers = (machine: Machine, timeoutMs: number) =>
    readCertificate({ host: machine.plan.address }, { timeoutMs })

  test('is active but not stored, until every call in another mode stops its timer', async () => {
    const { machine, client, before, withSan } = await onTrial()
    const first = withSan('one.example.org')
    const answer = await client.applyConfiguration(first, { mode: 'try' })
    expect(answer).toMatchObject({
      mode: 'try',
      details:
        "Applied configuration without a reboot\nThe config is applied in 'try' mode and will be automatically reverted back in 1m0s",
    })
    expect(await readFound(client)).toMatchObject({ active: first, stored: before })
    await client.applyConfiguration(before, { mode: 'try', dryRun: true })
    await expect(client.applyConfiguration('{', { mode: 'try' })).rejects.toMatchObject({
      kind: 'invalid_argument',
    })
    expect(machine.cancelTry).not.toBeNull()
    for (const stop of [
      () => client.applyConfiguration(before, { mode: 'auto', dryRun: true }),
      () => client.applyConfiguration('{', { mode: 'no-reboot' }).catch(() => undefined),
      () => client.applyConfiguration(before, { mode: 'staged' }),
    ]) {
      await client.applyConfiguration(first, { mode: 'try' })
      await stop()
      expect(machine.cancelTry).toBeNull()
      expect(machine.config!.text).toBe(first)
    }
  })

  test('goes back to what was active when the call came, which may be another trial', async () => {
    const { machine, client, before, withSan } = await onTrial()
    await client.applyConfiguration(withSan('one.example.org'), { mode: 'try', tryForMs: 0 })
    await until('it was taken back', () => machine.config!.text === before)
    await client.applyConfiguration(withSan('one.example.org'), { mode: 'try' })
    await client.applyConfiguration(withSan('two.example.org'), { mode: 'try', tryForMs: 0 })
    await until('the second was', () => machine.config!.text === withSan('one.example.org'))
    expect(machine.cancelTry).toBeNull()
  })

  test('is refused if it needs a reboot, unless only another document says so', async () => {
    const { client, before } = await onTrial()
    const needsReboot = before.replace('diskQuotaSupport: true', 'diskQuotaSupport: false')
    for (const dryRun of [true, false])
      await expect(
        client.applyConfiguration(needsReboot, { mode: 'try', dryRun }),
      ).rejects.toMatchObject({ kind: 'invalid_argument' })
    const document = `${before}---\napiVersion: v1alpha1\nkind: WatchdogTimerConfig\ndevice: /dev/watchdog0\n`
    await client.applyConfiguration(document, { mode: 'try' })
  })

  test('is gone after a reboot', async () => {
    const { machine, client, before, withSan } = await onTrial()
    await client.applyConfiguration(withSan('one.example.org'), { mode: 'try' })
    await client.reboot()
    await until('it rebooted', () => machine.disk.state.counters.reboots === 1)
    await until('it runs', () => machine.stage.stage === 'running')
    expect(machine.config!.text).toBe(before)
    expect(machine.cancelTry).toBeNull()
  })

  test('takes the address away and gives it back', async () => {
    const { machine, bundle, client, before } = await onTrial()
    const link = machine.managementLink.name
    const vlan = `${before}---\napiVersion: v1alpha1\nkind: VLANConfig\nname: ${link}.100\nvlanID: 100\nparent: ${link}\n`
    await client.applyConfiguration(vlan, { mode: 'try', tryForMs: 2_000 })
    await until('it lost the address', () =>
      machine.journal.kernelLines.since(0).some((line) => line.includes('removed address')),
    )
    await until('it went back', () => machine.config!.text === before)
    await until('it answers', () => machine.ports.apid.isOpen)
    const again = await openSecure(machine, bundle)
    expect((await readFound(again)).active).toBe(before)
  })

  test('moves to a static address of the simulated network, and back', async () => {
    const { machine, bundle, client, before } = await onTrial()
    const { address } = machine.plan
    const other = address.replace(/\d+$/, '201')
    const fixed = `${before}---\napiVersion: v1alpha1\nkind: LinkConfig\nname: ${machine.managementLink.name}\naddresses: [{address: ${other}/8}]\n`
    await client.applyConfiguration(fixed, { mode: 'try', tryForMs: 3_000 })
    await until('it answers there', () => machine.ports.apid.isOpen)
    expect(machine.plan.address).toBe(other)
    await expect(readCertificate({ host: address }, { timeoutMs: 200 })).rejects.toBeDefined()
    expect((await readFound(await openSecure(machine, bundle))).active).toBe(fixed)
    await until('it went back', () => machine.config!.text === before)
    expect(machine.plan.address).toBe(address)
    await until('it answers', () => machine.ports.apid.isOpen)
    const again = await openSecure(machine, bundle)
    await again.applyConfiguration(fixed, { mode: 'no-reboot' })
    await until('STATE has it', () => machine.disk.state.config === fixed)
    machine.lifecycle.request({ kind: 'reboot' })
    await until('it rebooted', () => machine.disk.state.counters.reboots === 1)
    await until('it runs', () => machine.stage.stage === 'running')
    expect(machine.plan.address).toBe(other)
    expect((await answers(machine, 10_000)).mode).toBe('secured')
  })

  test('keeps new connections out by its firewall, while existing ones go on', async () => {
    const { machine, client, before } = await onTrial()
    const block = `${before}---\napiVersion: v1alpha1\nkind: NetworkDefaultActionConfig\ningress: block\n`
    await client.applyConfiguration(block, { mode: 'try' })
    await expect(answers(machine, 200)).rejects.toMatchObject({ kind: 'timeout' })
    await client.applyConfiguration(before, { mode: 'no-reboot' })
    expect((await answers(machine, 10_000)).mode).toBe('secured')
  })
})

describe('a configuration on trial in maintenance', () => {
  const tried = async (special: object, tryForMs: number) => {
    const simulator = await fleet({ scenario: rack(1, { 1: special }), speed: 20 })
    const [machine] = simulator.servers
    const text = configFor(await secrets(), machine!, 'control_plane', machine!.plan.address)
    const client = await openMaintenance(machine!)
    return { machine: machine!, answer: client.applyConfiguration(text, { mode: 'try', tryForMs }) }
  }

  test('leads to an installation without a configuration', async () => {
    const { machine, answer } = await tried({}, 60_000)
    expect((await answer).details).toContain("applied in 'try' mode")
    await until('it is installed', () => machine.disk.state.counters.installs === 1)
    await until('it is in maintenance', () => machine.stage.stage === 'maintenance')
    expect(machine.disk.state.config).toBeNull()
  })

  test('panics when its time ends', async () => {
    const { machine, answer } = await tried({}, 50)
    await answer.catch(() => undefined)
    await until('it panicked', () => machine.disk.state.counters.boots === 1)
    await until('it is in maintenance', () => machine.stage.stage === 'maintenance')
    expect(machine.disk.state).toMatchObject({ config: null, installed: null })
  })

  test('is stored for good by Talos 1.12', async () => {
    const { machine, answer } = await tried({ talos: 'v1.12.11' }, 50)
    await answer
    expect(machine.cancelTry).toBeNull()
    await until('it is installed', () => machine.disk.state.config !== null)
  })
})

test('power that is cut right after an answer may bring the former configuration back', async () => {
  const simulator = await fleet({ scenario: rack(1), speed: 1 })
  const [machine] = simulator.servers
  machine!.disk.change((state) => {
    state.installed = { version: 'v1.13.9', disk: '', image: '' }
    state.config = 'former'
  })
  storeSoon(machine!, 'newer')
  await machine!.lifecycle.powerOff()
  expect(machine!.disk.state.config).toBe('former')
  storeSoon(machine!, 'newer')
  await until('STATE has it', () => machine!.disk.state.config === 'newer')
})

test.each([
  [60_000, '1m0s'],
  [1_500, '1.5s'],
  [3_690_000, '1h1m30s'],
  [250, '250ms'],
  [0, '0s'],
])('%i ms are written as %s', (ms, text) => {
  expect(goDuration(ms)).toBe(text)
})
