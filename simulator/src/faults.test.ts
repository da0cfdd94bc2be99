import { connect } from 'node:net'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { readCertificate } from '#talos/client/connect.ts'
import { TalosError } from '#talos/client/errors.ts'
import { readIdentity } from '#talos/client/inventory.ts'
import { readTrouble } from '#talos/client/trouble.ts'
import { addFault, clearFaults } from './machine/trouble.ts'
import {
  cluster,
  configFor,
  dataFolder,
  fleet,
  give,
  openMaintenance,
  openSecure,
  rack,
  secrets,
  until,
} from './testing/fleet.ts'

test('the fault `refuse` refuses connections at once until it ends', async () => {
  const simulator = await fleet({ scenario: rack(1) })
  const [machine] = simulator.servers
  await addFault(machine!, { kind: 'refuse', for_ms: 10_000 })
  await expect(readCertificate({ host: machine!.plan.address })).rejects.toMatchObject({
    kind: 'unreachable',
  })
  await until('the fault is over', () => machine!.disk.state.faults.length === 0)
  expect((await readCertificate({ host: machine!.plan.address })).mode).toBe('maintenance')
})

test('the fault `hang` accepts connections and never answers', async () => {
  const simulator = await fleet({ scenario: rack(1) })
  const [machine] = simulator.servers
  await addFault(machine!, { kind: 'hang' })
  await expect(
    readCertificate({ host: machine!.plan.address }, { timeoutMs: 200 }),
  ).rejects.toMatchObject({ kind: 'timeout' })
  await clearFaults(machine!)
  await expect(readCertificate({ host: machine!.plan.address })).resolves.toBeDefined()
})

test('the fault `drip` sends one byte per second', async () => {
  const simulator = await fleet({ scenario: rack(1) })
  const [machine] = simulator.servers
  await addFault(machine!, { kind: 'drip' })
  await expect(
    readCertificate({ host: machine!.plan.address }, { timeoutMs: 400 }),
  ).rejects.toMatchObject({ kind: 'timeout' })
})

test('the fault `garbage` answers with bytes that are not TLS', async () => {
  const simulator = await fleet({ scenario: rack(1) })
  const [machine] = simulator.servers
  await addFault(machine!, { kind: 'garbage' })
  const socket = connect(50_000, machine!.plan.address)
  const [data] = (await once(socket, 'data')) as [Buffer]
  expect(data.toString()).toContain('garbage')
  await expect(
    readCertificate({ host: machine!.plan.address }, { timeoutMs: 1000 }),
  ).rejects.toBeInstanceOf(TalosError)
})

test("the fault `identity` changes UUID and serial number when the machine reaches the fault's stage", async () => {
  const simulator = await fleet({ scenario: rack(1) })
  const [machine] = simulator.servers
  const before = await readIdentity(await openMaintenance(machine!))
  await addFault(machine!, { kind: 'identity' })
  const after = await readIdentity(await openMaintenance(machine!))
  expect(after.uuid).not.toBe(before.uuid)
  expect(after.serial).not.toBe(before.serial)
})

test('the fault `late-disks` lets the disks beside the first appear one after another', async () => {
  const simulator = await fleet({ scenario: rack(1) })
  const machine = simulator.servers[0]!
  const all = machine.hardware.disks.length
  await addFault(machine, { kind: 'late-disks', ms: 2_000 })
  await machine.lifecycle.powerOff()
  machine.lifecycle.powerOn()
  const seen = new Set<number>()
  await until('all disks are there', () => {
    seen.add(machine.hardware.disks.length)
    return seen.size > 1 && machine.hardware.disks.length === all
  })
  expect(all).toBeGreaterThan(1)
  expect(Math.min(...seen)).toBe(1)
})

test('the fault `slow-boot` keeps a server in the stage booting', async () => {
  const simulator = await fleet({ scenario: rack(1) })
  const machine = simulator.servers[0]!
  await addFault(machine, { kind: 'slow-boot', ms: 30_000 })
  const { clock } = machine.world
  let [beganMs, tookMs] = [null as number | null, 0]
  await give(machine, configFor(await secrets(), machine, 'worker', machine.plan.address))
  await until('the boot goes on', () => {
    if (machine.stage.stage === 'booting') beganMs ??= clock.elapsed()
    if (beganMs !== null) tookMs = clock.elapsed() - beganMs
    return machine.services.get('cri')?.state === 'Running'
  })
  expect(tookMs).toBeGreaterThanOrEqual(30_000)
})

test('a server that vanishes during its installation stays off until power-on', async () => {
  const simulator = await fleet({
    scenario: rack(1, { 1: { faults: [{ kind: 'vanish', stage: 'installing' }] } }),
  })
  const [machine] = simulator.servers
  // The power may fail before the response arrives.
  await Promise.allSettled([
    give(machine!, configFor(await secrets(), machine!, 'control_plane', machine!.plan.address)),
  ])
  await until('it is gone', () => !machine!.isOn)
  expect(machine!.disk.state.counters.applies).toBe(1)
  await expect(readCertificate({ host: machine!.plan.address })).rejects.toMatchObject({
    kind: 'unreachable',
  })
  machine!.lifecycle.powerOn()
  await until('it is back, with nothing on its disk', () => machine!.stage.stage === 'maintenance')
  expect(machine!.disk.state.installed).toBeNull()
})

test('a configuration is applied even if its reply is lost', async () => {
  const simulator = await fleet({ scenario: rack(1, { 1: { faults: [{ kind: 'lost-reply' }] } }) })
  const [machine] = simulator.servers
  const client = await openMaintenance(machine!)
  await expect(
    client.applyConfiguration(
      configFor(await secrets(), machine!, 'control_plane', machine!.plan.address),
      { mode: 'auto' },
    ),
  ).rejects.toBeInstanceOf(TalosError)
  await until('it installs', () => machine!.disk.state.counters.installs === 1)
  expect(machine!.disk.state.counters.applies).toBe(1)
})

test('the fault `close-after-apply` closes the connection right after the reply', async () => {
  const simulator = await fleet({
    scenario: rack(1, { 1: { faults: [{ kind: 'close-after-apply' }] } }),
  })
  const [machine] = simulator.servers
  await give(machine!, configFor(await secrets(), machine!, 'control_plane', machine!.plan.address))
  await until('it installs', () => machine!.disk.state.counters.installs === 1)
  expect(machine!.disk.state.faults).toEqual([])
})

test('a bootstrap whose reply is lost creates one etcd, and a second bootstrap is refused', async () => {
  const simulator = await fleet({ scenario: rack(1) })
  const [machine] = simulator.servers
  const bundle = await secrets()
  await give(machine!, configFor(bundle, machine!, 'control_plane', machine!.plan.address))
  await until('etcd waits', () => machine!.services.get('etcd')?.state === 'Preparing')
  await addFault(machine!, { kind: 'lost-reply', method: 'Bootstrap', times: 1 })
  await expect((await openSecure(machine!, bundle)).bootstrap()).rejects.toBeInstanceOf(TalosError)
  await expect((await openSecure(machine!, bundle)).bootstrap()).rejects.toMatchObject({
    kind: 'already_exists',
    message: expect.stringContaining('etcd data directory is not empty'),
  })
  expect(machine!.disk.state.counters).toMatchObject({ bootstraps: 1, bootstrapCalls: 2 })
})

test('faults are kept across a restart', async () => {
  const dataDir = dataFolder()
  const first = await fleet({ scenario: rack(1), dataDir })
  await addFault(first.servers[0]!, { kind: 'fail-install', times: 3 })
  await first.stop()
  const second = await fleet({ scenario: rack(1), dataDir })
  expect(second.servers[0]!.disk.state.faults).toEqual([{ kind: 'fail-install', times: 3 }])
})

test('the cluster continues if one control plane loses power', async () => {
  const simulator = await fleet({ scenario: rack(3) })
  const { bundle, controlPlanes } = await cluster(simulator, 3, 0)
  await controlPlanes[2]!.lifecycle.powerOff()
  const client = await openSecure(controlPlanes[0]!, bundle)
  expect(await client.etcdMembers()).toHaveLength(3)
  await controlPlanes[1]!.lifecycle.powerOff()
  await expect(client.etcdMembers()).rejects.toMatchObject({ kind: 'unavailable' })
})

test('failures are found in the kernel log and in events even if many API calls were logged', async () => {
  const simulator = await fleet({
    scenario: {
      ...rack(2, { 1: { faults: [{ kind: 'no-image' }] }, 2: { faults: [{ kind: 'no-image' }] } }),
      talos: ['v1.13.9', 'v1.12.11'],
    },
  })
  const bundle = await secrets()
  for (const machine of simulator.servers) {
    await give(machine, configFor(bundle, machine, 'control_plane', machine.plan.address))
    await until(
      'it tries again',
      () =>
        machine.journal.kernelLines.since(0).filter((line) => line.includes('msg=fetch failed'))
          .length > 1,
    )
    const client = await openSecure(machine, bundle, ['os:reader'])
    for (let calls = 0; calls < 60; calls++) await client.services()
    const { reason, lines } = await readTrouble(client)
    expect(reason).toMatch(
      /^failed to pull image ".*": failed to resolve image: dial tcp: i\/o timeout$/,
    )
    expect(lines.join('\n')).not.toContain('ServiceList')
    const own = Buffer.concat(
      await Array.fromAsync(client.logs({ service: 'machined', tail: 10 })),
    ).toString()
    expect(own).toMatch(
      /^\d{4}\/\d\d\/\d\d \d\d:\d\d:\d\d\.\d{6} machined OK \[\/machine\.MachineService\/\w+\] [\d.]+ms \w+ Success \(.*\)$/m,
    )
    await expect(Array.fromAsync(client.logs({ service: 'nothing' }))).rejects.toMatchObject({
      kind: 'not_found',
      message: 'log "nothing" was not registered',
    })
  }
})
