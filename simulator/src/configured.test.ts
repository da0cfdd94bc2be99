import { connect } from 'node:tls'
import { once } from 'node:events'
import { createClient, type Client } from '@connectrpc/connect'
import { createGrpcTransport } from '@connectrpc/connect-node'
import { expect, test } from 'vitest'
import { connectSecure, readCertificate } from '#talos/client/connect.ts'
import { TalosError } from '#talos/client/errors.ts'
import { resources } from '#talos/client/resources.ts'
import { mintTalosClient } from '#talos/pki/certificates.ts'
import { ImageService, LifecycleService } from '#talos/proto/gen/machine/lifecycle_pb.ts'
import { MachineService } from '#talos/proto/gen/machine/machine_pb.ts'
import { SecurityService } from '#talos/proto/gen/security/security_pb.ts'
import { standardKey } from '#talos/pki/keys.ts'
import { issue } from './wire/certificates.ts'
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

test('only certificates of the cluster are accepted, and their roles limit the calls', async () => {
  const simulator = await fleet({ scenario: rack(1) })
  const { bundle, controlPlanes } = await cluster(simulator, 1, 0)
  const [machine] = controlPlanes
  const reader = await openSecure(machine!, bundle, ['os:reader'])
  expect((await reader.version()).tag).toBe('v1.13.9')
  await expect(reader.reboot()).rejects.toMatchObject({ kind: 'permission_denied' })
  await expect(
    reader.applyConfiguration(machine!.config!.text, { mode: 'auto' }),
  ).rejects.toMatchObject({ kind: 'permission_denied' })
  const operator = await openSecure(machine!, bundle, ['os:operator'])
  await expect(operator.kubeconfig()).rejects.toMatchObject({ kind: 'permission_denied' })
  expect(await operator.etcdMembers()).toHaveLength(1)
  const socket = connect({
    host: machine!.plan.address,
    port: 50_000,
    ca: bundle.certs.os.crt,
    ALPNProtocols: ['h2'],
  })
  // With TLS 1.3 the refusal arrives after the handshake seems complete.
  const [refusal] = (await once(socket, 'error')) as [Error]
  expect(refusal.message).toContain('certificate required')
})

test('a client certificate that is also valid for servers is refused', async () => {
  const simulator = await fleet({ scenario: rack(1) })
  const { bundle, controlPlanes } = await cluster(simulator, 1, 0)
  const { crt, key } = issue(bundle.certs.os, {
    commonName: '',
    organizations: ['os:admin'],
    usages: ['serverAuth', 'clientAuth'],
    lifetimeMs: 3_600_000,
    now: Date.now(),
  })
  const client = await connectSecure(
    { host: controlPlanes[0]!.plan.address },
    { ca: bundle.certs.os.crt, crt, key: standardKey(key) },
    { deadlineMs: 30_000 },
  )
  await expect(client.version()).rejects.toBeInstanceOf(TalosError)
  client.close()
})

test('a worker has no API until trustd signs its certificate', async () => {
  const simulator = await fleet({ scenario: rack(2) })
  const [first, second] = simulator.servers
  const bundle = await secrets()
  await give(second!, configFor(bundle, second!, 'worker', first!.plan.address))
  await until('the worker boots', () => second!.services.isUp('cri'))
  expect(second!.mode).toBe('dark')
  await expect(readCertificate({ host: second!.plan.address })).rejects.toMatchObject({
    kind: 'unreachable',
  })
  await give(first!, configFor(bundle, first!, 'control_plane', first!.plan.address))
  await until('trustd answers', () => second!.mode === 'secured')
  expect((await (await openSecure(second!, bundle)).version()).tag).toBe('v1.13.9')
})

test('trustd requires the machine token', async () => {
  const simulator = await fleet({ scenario: rack(1) })
  const { bundle, controlPlanes } = await cluster(simulator, 1, 0)
  const transport = createGrpcTransport({
    baseUrl: `https://${controlPlanes[0]!.plan.address}:50001`,
    nodeOptions: { ca: bundle.certs.os.crt },
    idleConnectionTimeoutMs: 200,
  })
  const trustd = createClient(SecurityService, transport)
  await expect(trustd.certificate({ csr: new Uint8Array() })).rejects.toMatchObject({ code: 16 })
  await expect(
    trustd.certificate({ csr: new Uint8Array() }, { headers: { token: bundle.trustdInfo.token } }),
  ).rejects.toMatchObject({ code: 3 })
})

test('a bootstrap succeeds only once and only on a control plane, and every call is counted', async () => {
  const simulator = await fleet({ scenario: rack(2) })
  const { bundle, controlPlanes, workers } = await cluster(simulator, 1, 1)
  await expect((await openSecure(controlPlanes[0]!, bundle)).bootstrap()).rejects.toMatchObject({
    kind: 'already_exists',
  })
  await expect((await openSecure(workers[0]!, bundle)).bootstrap()).rejects.toMatchObject({
    kind: 'unimplemented',
  })
  const worker = await openSecure(workers[0]!, bundle)
  await expect(worker.etcdMembers()).rejects.toMatchObject({
    kind: 'unimplemented',
    message: 'member list is only available on control plane nodes',
  })
  await expect(worker.etcdStatus()).rejects.toMatchObject({
    kind: 'unimplemented',
    message: 'etcd status is only available on control plane nodes',
  })
  expect(controlPlanes[0]!.disk.state.counters).toMatchObject({ bootstraps: 1, bootstrapCalls: 2 })
  expect(workers[0]!.disk.state.counters).toMatchObject({ bootstraps: 0, bootstrapCalls: 1 })
})

test('two bootstraps on empty control planes create two etcd clusters', async () => {
  const simulator = await fleet({ scenario: rack(2), speed: 5 })
  const bundle = await secrets()
  const [a, b] = simulator.servers
  simulator.clock.setSpeed(50)
  await Promise.all(
    [a!, b!].map((machine) =>
      give(machine, configFor(bundle, machine, 'control_plane', a!.plan.address)),
    ),
  )
  await until('both wait', () =>
    [a!, b!].every((machine) => machine.services.get('etcd')?.state === 'Preparing'),
  )
  const clients = await Promise.all([openSecure(a!, bundle), openSecure(b!, bundle)])
  await Promise.all(clients.map((client) => client.bootstrap()))
  expect(simulator.world.etcd.all).toHaveLength(2)
})

test('a changed configuration is applied at once if possible, otherwise with a reboot', async () => {
  const simulator = await fleet({ scenario: rack(1) })
  const { bundle, controlPlanes } = await cluster(simulator, 1, 0)
  const [machine] = controlPlanes
  const client = await openSecure(machine!, bundle)
  const now = machine!.config!.text
  const withSan = now.replace('certSANs: []', 'certSANs: [api.example.org]')
  expect((await client.applyConfiguration(now, { mode: 'auto', dryRun: true })).details).toContain(
    'No changes.',
  )
  expect((await client.applyConfiguration(withSan, { mode: 'auto' })).mode).toBe('no-reboot')
  const renewed = await readCertificate({ host: machine!.plan.address })
  expect(renewed.mode).toBe('secured')
  const needsReboot = withSan.replace('diskQuotaSupport: true', 'diskQuotaSupport: false')
  await expect(client.applyConfiguration(needsReboot, { mode: 'no-reboot' })).rejects.toMatchObject(
    { kind: 'invalid_argument' },
  )
  const dry = await client.applyConfiguration(needsReboot, { mode: 'auto', dryRun: true })
  expect(dry.mode).toBe('reboot')
  expect(dry.details).toContain('diskQuotaSupport: false')
  expect((await client.applyConfiguration(needsReboot, { mode: 'auto' })).mode).toBe('reboot')
  await until(
    'it rebooted',
    () => machine!.disk.state.counters.reboots === 1 && machine!.stage.stage === 'running',
  )
  expect(machine!.config!.text).toBe(needsReboot)
})

test('a configuration in mode `staged` waits for a reboot', async () => {
  const simulator = await fleet({ scenario: rack(1) })
  const { bundle, controlPlanes } = await cluster(simulator, 1, 0)
  const [machine] = controlPlanes
  const client = await openSecure(machine!, bundle)
  const before = machine!.config!.text
  const other = before.replace('certSANs: []', 'certSANs: [api.example.org]')
  await client.applyConfiguration(other, { mode: 'staged' })
  expect(machine!.config!.text).toBe(before)
  await until('STATE has it', () => machine!.disk.state.config === other)
  await client.reboot()
  await until(
    'it came up with it',
    () => machine!.config?.text === other && machine!.stage.stage === 'running',
  )
})

test("a configuration without the server's address makes the server unreachable", async () => {
  const simulator = await fleet({ scenario: rack(1) })
  const [machine] = simulator.servers
  const bundle = await secrets()
  const link = machine!.managementLink.name
  const config = configFor(bundle, machine!, 'control_plane', machine!.plan.address)
  await give(
    machine!,
    `${config}---\napiVersion: v1alpha1\nkind: VLANConfig\nname: ${link}.100\nvlanID: 100\nparent: ${link}\n`,
  )
  await until('it booted', () => machine!.services.isUp('cri'))
  await expect(readCertificate({ host: machine!.plan.address })).rejects.toMatchObject({
    kind: 'unreachable',
  })
})

test('a reset of STATE and EPHEMERAL keeps Talos installed; a full reset leaves an empty machine', async () => {
  const simulator = await fleet({ scenario: rack(3) })
  const { bundle, controlPlanes } = await cluster(simulator, 3, 0)
  const [first, second, third] = controlPlanes
  await (
    await openSecure(third!, bundle)
  ).reset({ graceful: true, reboot: true, systemPartitions: ['STATE', 'EPHEMERAL'] })
  await until('maintenance', () => third!.stage.stage === 'maintenance')
  expect(third!.disk.state).toMatchObject({
    config: null,
    etcd: null,
    installed: { version: 'v1.13.9' },
  })
  const maintenance = await openMaintenance(third!)
  expect((await maintenance.get(resources.systemDisk, 'system-disk'))?.spec.diskId).toBe(
    third!.hardware.disks[0]!.name,
  )
  expect(await (await openSecure(first!, bundle)).etcdMembers()).toHaveLength(2)
  await (await openSecure(second!, bundle)).reset({ graceful: false, reboot: true })
  await until('maintenance', () => second!.stage.stage === 'maintenance')
  expect(second!.disk.state.installed).toBeNull()
  // One of two members is off: no quorum.
  await expect((await openSecure(first!, bundle)).etcdMembers()).rejects.toMatchObject({
    kind: 'unavailable',
  })
})

test("the last etcd member can't leave gracefully", async () => {
  const simulator = await fleet({ scenario: rack(1) })
  const { bundle, controlPlanes } = await cluster(simulator, 1, 0)
  const [machine] = controlPlanes
  await (
    await openSecure(machine!, bundle)
  ).reset({ graceful: true, reboot: true, systemPartitions: ['STATE', 'EPHEMERAL'] })
  await until(
    'it is back as it was',
    () =>
      machine!.stage.stage === 'running' &&
      machine!.disk.state.counters.boots > 1 &&
      machine!.stage.ready,
  )
  expect(machine!.disk.state.config).not.toBeNull()
  await (
    await openSecure(machine!, bundle)
  ).reset({ graceful: false, reboot: true, systemPartitions: ['STATE', 'EPHEMERAL'] })
  await until('maintenance', () => machine!.stage.stage === 'maintenance')
})

test('a machine that left the cluster rejoins as a new member without another installation', async () => {
  const simulator = await fleet({ scenario: rack(3) })
  const { bundle, controlPlanes } = await cluster(simulator, 3, 0)
  const [first, , third] = controlPlanes
  const config = third!.config!.text
  await (
    await openSecure(third!, bundle)
  ).reset({ graceful: true, reboot: true, systemPartitions: ['STATE', 'EPHEMERAL'] })
  await until('maintenance', () => third!.stage.stage === 'maintenance')
  await give(third!, config)
  await until('it runs', () => third!.stage.stage === 'running' && third!.stage.ready)
  expect(await (await openSecure(first!, bundle)).etcdMembers()).toHaveLength(3)
  expect(third!.disk.state.counters.installs).toBe(1)
})

test('a machine is off after a shutdown', async () => {
  const simulator = await fleet({ scenario: rack(1) })
  const { bundle, controlPlanes } = await cluster(simulator, 1, 0)
  await (await openSecure(controlPlanes[0]!, bundle)).shutdown()
  await until('it is off', () => !controlPlanes[0]!.isOn)
  controlPlanes[0]!.lifecycle.powerOn()
  await until('it is back', () => controlPlanes[0]!.stage.stage === 'running')
  expect(controlPlanes[0]!.disk.state.counters.installs).toBe(1)
})

test('disks and clusters are kept across a restart of the simulator', async () => {
  const dataDir = dataFolder()
  const first = await fleet({ scenario: rack(4), dataDir })
  const { bundle, controlPlanes, workers } = await cluster(first, 3, 1)
  const ids = (await (await openSecure(controlPlanes[0]!, bundle)).etcdMembers()).map(
    ({ id }) => id,
  )
  await first.servers[2]!.lifecycle.powerOff()
  await first.stop()
  const second = await fleet({ scenario: rack(4), dataDir })
  await until('all that are on run', () =>
    [0, 1, 3].every(
      (index) =>
        second.servers[index]!.stage.stage === 'running' && second.servers[index]!.stage.ready,
    ),
  )
  expect(second.servers[2]!.isOn).toBe(false)
  expect(
    (await (await openSecure(second.servers[0]!, bundle)).etcdMembers()).map(({ id }) => id),
  ).toEqual(ids)
  expect(second.servers.map(({ disk }) => disk.state.counters.bootstraps)).toEqual([1, 0, 0, 0])
  expect(workers).toHaveLength(1)
})

test("a worker answers calls to itself and doesn't forward calls", async () => {
  const simulator = await fleet({ scenario: rack(2) })
  const { bundle, controlPlanes, workers } = await cluster(simulator, 1, 1)
  const credentials = await mintTalosClient(bundle, {
    roles: ['os:admin'],
    lifetimeMs: 3_600_000,
    now: new Date(),
  })
  const raw = (host: string): Client<typeof MachineService> =>
    createClient(
      MachineService,
      createGrpcTransport({
        baseUrl: `https://${host}:50000`,
        nodeOptions: {
          ca: credentials.ca,
          cert: credentials.crt,
          key: standardKey(credentials.key),
        },
        idleConnectionTimeoutMs: 200,
      }),
    )
  const [control, worker] = [controlPlanes[0]!, workers[0]!]
  const reply = await raw(control.plan.address).version(
    {},
    { headers: { nodes: control.plan.address } },
  )
  expect(reply.messages[0]?.metadata?.hostname).toBe(control.plan.address)
  expect((await raw(control.plan.address).version({})).messages[0]?.metadata).toBeUndefined()
  await expect(
    raw(worker.plan.address).version({}, { headers: { node: control.plan.address } }),
  ).rejects.toMatchObject({
    code: 7,
    rawMessage: 'no request forwarding',
  })
})

test('events, logs and kernel messages can be followed', async () => {
  const simulator = await fleet({ scenario: rack(1) })
  const { bundle, controlPlanes } = await cluster(simulator, 1, 0)
  const client = await openSecure(controlPlanes[0]!, bundle)
  const kinds = new Set<string>()
  for await (const event of client.events({ tail: -1 })) {
    kinds.add(event.kind)
    if (kinds.size >= 5) break
  }
  expect(kinds.size).toBeGreaterThanOrEqual(5)
  const log = Buffer.concat(await Array.fromAsync(client.logs({ service: 'etcd' }))).toString()
  expect(log).toContain('Health check successful')
  await expect(Array.fromAsync(client.logs({ service: 'nonsense' }))).rejects.toMatchObject({
    kind: 'not_found',
  })
})

test('a cluster of Talos 1.12 becomes ready', async () => {
  const simulator = await fleet({ scenario: { ...rack(2), talos: ['v1.12.11'] } })
  const { bundle, workers } = await cluster(simulator, 1, 1)
  expect((await (await openSecure(workers[0]!, bundle)).version()).tag).toBe('v1.12.11')
})

test('if the control plane with the virtual address loses power, another one takes over the address', async () => {
  const simulator = await fleet({ scenario: rack(3) })
  const bundle = await secrets()
  const virtual = simulator.servers[0]!.plan.address.replace(/\.\d+$/, '.200')
  const controlPlanes = [...simulator.servers]
  const config = (machine: (typeof controlPlanes)[number]): string =>
    `${configFor(bundle, machine, 'control_plane', virtual).replaceAll('certSANs: []', `certSANs: [${virtual}]`)}---\napiVersion: v1alpha1\nkind: Layer2VIPConfig\nname: ${virtual}\nlink: ${machine.managementLink.name}\n`
  await Promise.all(controlPlanes.map((machine) => give(machine, config(machine))))
  await until('etcd waits', () => controlPlanes[0]!.services.get('etcd')?.state === 'Preparing')
  await (await openSecure(controlPlanes[0]!, bundle)).bootstrap()
  await until('all run', () =>
    controlPlanes.every(({ stage }) => stage.stage === 'running' && stage.ready),
  )
  const answers = async (): Promise<string | null> => {
    const credentials = await mintTalosClient(bundle, {
      roles: ['os:reader'],
      lifetimeMs: 3_600_000,
      now: new Date(),
    })
    try {
      const client = await connectSecure({ host: virtual }, credentials, { deadlineMs: 1000 })
      const hostname = (await client.get(resources.hostname, 'hostname'))?.spec.hostname ?? null
      client.close()
      return hostname
    } catch {
      return null
    }
  }
  await until('the address answers', async () => (await answers()) === controlPlanes[0]!.hostname)
  await controlPlanes[0]!.lifecycle.powerOff()
  await until('another answers', async () =>
    [controlPlanes[1]!.hostname, controlPlanes[2]!.hostname].includes((await answers()) ?? ''),
  )
  expect(
    controlPlanes.filter(({ virtualAddresses }) => virtualAddresses.includes(virtual)),
  ).toHaveLength(1)
})

test('Talos can be upgraded through MachineService and through LifecycleService', async () => {
  const simulator = await fleet({ scenario: { ...rack(1), talos: ['v1.12.11'] } })
  const { bundle, controlPlanes } = await cluster(simulator, 1, 0)
  const [machine] = controlPlanes
  const raw = async (): Promise<ReturnType<typeof createGrpcTransport>> => {
    const credentials = await mintTalosClient(bundle, {
      roles: ['os:admin'],
      lifetimeMs: 3_600_000,
      now: new Date(),
    })
    return createGrpcTransport({
      baseUrl: `https://${machine!.plan.address}:50000`,
      nodeOptions: { ca: credentials.ca, cert: credentials.crt, key: standardKey(credentials.key) },
      idleConnectionTimeoutMs: 200,
    })
  }
  const legacy = createClient(MachineService, await raw())
  await expect(
    legacy.upgrade({ image: 'ghcr.io/siderolabs/installer:nonsense' }),
  ).rejects.toMatchObject({ code: 2 })
  expect(
    (await legacy.upgrade({ image: 'ghcr.io/siderolabs/installer:v1.13.0' })).messages[0]?.ack,
  ).toBe('Upgrade request received')
  await until(
    'it runs the new one',
    () => machine!.talosVersion === 'v1.13.0' && machine!.stage.stage === 'running',
  )
  const image = 'ghcr.io/siderolabs/installer:v1.13.9'
  const transport = await raw()
  const pulled: unknown[] = []
  for await (const { response } of createClient(ImageService, transport).pull({ imageRef: image }))
    pulled.push(response.case)
  expect(new Set(pulled.slice(0, -1))).toEqual(new Set(['pullProgress']))
  expect(pulled.at(-1)).toBe('name')
  const codes: unknown[] = []
  for await (const { progress } of createClient(LifecycleService, transport).upgrade({
    source: { imageName: image },
  }))
    codes.push(progress?.response.case === 'exitCode' ? progress.response.value : null)
  expect(codes.at(-1)).toBe(0)
  await createClient(MachineService, transport).reboot({})
  await until(
    'it runs the newest',
    () => machine!.talosVersion === 'v1.13.9' && machine!.stage.stage === 'running',
  )
})

test('no etcd cluster remains if the simulator is killed during a bootstrap', async () => {
  const dataDir = dataFolder()
  const first = await fleet({ scenario: rack(1), dataDir })
  const bundle = await secrets()
  const [machine] = first.servers
  await give(machine!, configFor(bundle, machine!, 'control_plane', machine!.plan.address))
  await until('etcd waits', () => machine!.services.get('etcd')?.state === 'Preparing')
  // Leaves the files of a bootstrap that was interrupted: the cluster's file is written, the state
  // of the machine's disk is not.
  first.world.etcd.create(machine!, machine!.config!.node!)
  await first.stop()
  const second = await fleet({ scenario: rack(1), dataDir })
  expect(second.world.etcd.all).toEqual([])
  await until(
    'etcd waits again',
    () => second.servers[0]!.services.get('etcd')?.state === 'Preparing',
  )
  await (await openSecure(second.servers[0]!, bundle)).bootstrap()
  expect(second.world.etcd.all).toHaveLength(1)
})
