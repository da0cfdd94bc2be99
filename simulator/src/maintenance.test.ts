import { create, fromBinary } from '@bufbuild/protobuf'
import { createClient, type Client } from '@connectrpc/connect'
import { createGrpcTransport } from '@connectrpc/connect-node'
import { expect, onTestFinished, test } from 'vitest'
import { connectMaintenance, readCertificate } from '#talos/client/connect.ts'
import { readIdentity, readInventory, readStatus } from '#talos/client/inventory.ts'
import {
  ResourceDefinitionSpecSchema,
  type ResourceDefinitionSpec,
} from '#talos/proto/gen/cosi/meta_pb.ts'
import { State, type ListResponse } from '#talos/proto/gen/cosi/state_pb.ts'
import { resources } from '#talos/client/resources.ts'
import {
  ApplyConfigurationRequest_Mode,
  MachineService,
} from '#talos/proto/gen/machine/machine_pb.ts'
import { StorageService } from '#talos/proto/gen/storage/storage_pb.ts'
import { EmptySchema } from '@bufbuild/protobuf/wkt'
import { connect } from 'node:tls'
import { once } from 'node:events'
import { MIN_SPEED } from './clock.ts'
import type { Machine } from './machine/machine.ts'
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
import { processorMs } from '../../tools/testing/processor-time.ts'

/**
 * Talks to a server in maintenance as `talosctl --insecure` does: without checking the server's
 * certificate.
 */
const insecure = (
  machine: Machine,
): {
  machine: Client<typeof MachineService>
  state: Client<typeof State>
  storage: Client<typeof StorageService>
} => {
  const transport = createGrpcTransport({
    baseUrl: `https://${machine.plan.address}:50000`,
    nodeOptions: { rejectUnauthorized: false },
    idleConnectionTimeoutMs: 200,
  })
  return {
    machine: createClient(MachineService, transport),
    state: createClient(State, transport),
    storage: createClient(StorageService, transport),
  }
}

test("in maintenance the server's certificate is for maintenance-service.talos.dev, and its root isn't sent", async () => {
  const simulator = await fleet({ scenario: rack(1) })
  const socket = connect({
    host: simulator.servers[0]!.plan.address,
    port: 50_000,
    rejectUnauthorized: false,
    ALPNProtocols: ['h2'],
  })
  onTestFinished(() => void socket.destroy())
  await once(socket, 'secureConnect')
  const leaf = socket.getPeerX509Certificate()!
  expect(leaf.subject).toBe('CN=maintenance-service.talos.dev')
  expect(leaf.issuer).toBe('O=talos')
  expect(leaf.checkIP(simulator.servers[0]!.plan.address)).toBeDefined()
  expect(leaf.issuerCertificate).toBeUndefined()
  expect(socket.authorizationError).toBeTruthy()
  expect(socket.alpnProtocol).toBe('h2')
})

test('the fingerprint is stable until the next boot', async () => {
  const simulator = await fleet({ scenario: rack(1) })
  const [machine] = simulator.servers
  const target = { host: machine!.plan.address }
  const first = await readCertificate(target)
  expect((await readCertificate(target)).fingerprint).toBe(first.fingerprint)
  await machine!.lifecycle.powerOff()
  await expect(readCertificate(target)).rejects.toMatchObject({ kind: 'unreachable' })
  machine!.lifecycle.powerOn()
  await until('maintenance again', () => machine!.stage.stage === 'maintenance')
  expect((await readCertificate(target)).fingerprint).not.toBe(first.fingerprint)
})

test.each(['v1.13.9', 'v1.12.11'])(
  'Talos %s in maintenance shows its hardware to any client',
  async (talos) => {
    const simulator = await fleet({ scenario: { ...rack(8), talos: [talos] } })
    for (const machine of simulator.servers) {
      const client = await openMaintenance(machine)
      expect(await readIdentity(client)).toEqual({
        ...machine.disk.identity,
        manufacturer: machine.hardware.manufacturer,
        product: machine.hardware.product,
      })
      const inventory = await readInventory(client)
      expect(inventory.processors.map(({ cpu_cores }) => cpu_cores)).toEqual(
        machine.hardware.sockets.map(({ processor }) => processor.cores),
      )
      expect(inventory.memory.reduce((sum, { size }) => sum + size, 0)).toBe(
        machine.hardware.memory.reduce((sum, { module }) => sum + (module?.sizeMib ?? 0), 0) *
          2 ** 20,
      )
      expect(inventory.disks.map(({ id, size, wwid }) => [id, size, wwid])).toEqual(
        machine.hardware.disks.map(({ name, sizeBytes, wwid }) => [name, sizeBytes, wwid]),
      )
      expect(inventory.interfaces.map(({ id, hardware_addr }) => [id, hardware_addr])).toEqual(
        machine.hardware.links.map(({ name, mac }) => [name, mac]),
      )
      expect(inventory.node_addresses).toEqual([machine.plan.address])
      expect(await readStatus(client)).toMatchObject({
        stage: 'maintenance',
        ready: true,
        version: talos,
      })
    }
  },
)

test('a server reports that it is simulated', async () => {
  const simulator = await fleet({ scenario: rack(1) })
  const { machine, state } = insecure(simulator.servers[0]!)
  const { resource } = await state.get({
    namespace: 'hardware',
    type: 'SystemInformations.hardware.talos.dev',
    id: 'systeminformation',
  })
  expect(resource?.spec?.yamlSpec).toContain('version: Simulated')
  expect((await machine.version({})).messages[0]?.version?.sha).toBe('simulated')
  const lines = []
  for await (const { bytes } of machine.dmesg({})) lines.push(new TextDecoder().decode(bytes))
  expect(lines.join('\n')).toContain('SIMULATED')
})

test('in maintenance, Talos 1.13 answers the calls of the reader role, and Talos 1.12 only those of its maintenance service', async () => {
  const simulator = await fleet({ scenario: { ...rack(2), talos: ['v1.13.9', 'v1.12.11'] } })
  const newer = insecure(simulator.servers[0]!)
  expect((await newer.machine.version({})).messages[0]?.version?.tag).toBe('v1.13.9')
  expect((await newer.machine.serviceList({})).messages[0]?.services.map(({ id }) => id)).toContain(
    'machined',
  )
  await expect(newer.machine.reboot({})).rejects.toMatchObject({
    code: 7,
    rawMessage: 'not authorized',
  })
  await expect(newer.machine.reset({})).rejects.toMatchObject({ code: 7 })
  await expect(newer.machine.bootstrap({})).rejects.toMatchObject({ code: 7 })
  const older = insecure(simulator.servers[1]!)
  await expect(older.machine.version({})).rejects.toMatchObject({
    code: 12,
    rawMessage: 'API is not implemented in maintenance mode',
  })
  await expect(older.machine.serviceList({})).rejects.toMatchObject({ code: 12 })
  expect(
    (await older.storage.disks(create(EmptySchema))).messages[0]?.disks.length,
  ).toBeGreaterThan(0)
  expect(
    (
      await older.state.get({
        namespace: 'runtime',
        type: 'Versions.runtime.talos.dev',
        id: 'version',
      })
    ).resource?.spec?.yamlSpec,
  ).toContain('v1.12.11')
  await expect(
    older.machine.applyConfiguration({
      data: new TextEncoder().encode('version: v1alpha1'),
      mode: ApplyConfigurationRequest_Mode.STAGED,
    }),
  ).rejects.toMatchObject({
    code: 12,
    rawMessage: "apply configuration --mode='staged' is not supported in maintenance mode",
  })
  await expect(
    older.machine.applyConfiguration({
      data: new TextEncoder().encode('a: ['),
      mode: ApplyConfigurationRequest_Mode.AUTO,
    }),
  ).rejects.toMatchObject({
    code: 2,
    rawMessage: expect.stringMatching(/^failed to parse config: decode error: yaml: /),
  })
})

test('a second configuration is refused by Talos 1.13 at once and never accepted by 1.12', async () => {
  // The simulation is so slow that both servers are still in maintenance when they get the second
  // configuration.
  const simulator = await fleet({
    scenario: { ...rack(2), talos: ['v1.13.9', 'v1.12.11'] },
    speed: MIN_SPEED,
  })
  const bundle = await secrets()
  const givenTwice = async (server: Machine) => {
    const { machine } = insecure(server)
    const data = new TextEncoder().encode(
      configFor(bundle, server, 'control_plane', server.plan.address),
    )
    await machine.applyConfiguration({ data, mode: ApplyConfigurationRequest_Mode.AUTO })
    return machine.applyConfiguration({ data, mode: ApplyConfigurationRequest_Mode.AUTO }).then(
      () => 'taken',
      (error: unknown) => error,
    )
  }
  const [newer, older] = simulator.servers
  expect(await givenTwice(newer!)).toMatchObject({ code: 7, rawMessage: 'not authorized' })
  const second = givenTwice(older!)
  await until('the first is taken', () => older!.disk.state.counters.applies === 1)
  simulator.clock.setSpeed(50)
  // The error code of the closed connection depends on which side notices the end first.
  expect(await second).toMatchObject({ name: 'ConnectError' })
  for (const { disk } of simulator.servers) expect(disk.state.counters.applies).toBe(1)
})

test('sensitive and unknown resources are refused with the codes of the access policy', async () => {
  const simulator = await fleet({ scenario: rack(1) })
  const { state } = insecure(simulator.servers[0]!)
  await expect(
    state.get({ namespace: 'config', type: 'MachineConfigs.config.talos.dev', id: 'v1alpha1' }),
  ).rejects.toMatchObject({
    code: 7,
    rawMessage: 'not authorized',
  })
  await expect(
    state.get({ namespace: 'runtime', type: 'Nonsense.talos.dev', id: 'x' }),
  ).rejects.toMatchObject({
    code: 7,
    rawMessage: 'resource type "Nonsense.talos.dev" is not supported',
  })
  await expect(
    state.get({ namespace: 'nowhere', type: 'Versions.runtime.talos.dev', id: 'version' }),
  ).rejects.toMatchObject({
    code: 7,
    rawMessage: 'namespace "nowhere" is not supported',
  })
  await expect(
    state.get({ namespace: 'runtime', type: 'Versions.runtime.talos.dev', id: 'other' }),
  ).rejects.toMatchObject({ code: 5 })
})

test("every resource type of Talos has names and columns, even if it isn't simulated", async () => {
  const simulator = await fleet({ scenario: { ...rack(2), talos: ['v1.13.9', 'v1.12.11'] } })
  const [newer, older] = simulator.servers.map((machine) => insecure(machine).state)
  const definitions = async (
    state: Client<typeof State>,
  ): Promise<Map<string, ResourceDefinitionSpec>> => {
    const found = await Array.fromAsync(
      state.list({ namespace: 'meta', type: 'ResourceDefinitions.meta.cosi.dev' }),
    )
    return new Map(
      found.map(({ resource }) => [
        resource!.metadata!.id,
        fromBinary(ResourceDefinitionSpecSchema, resource!.spec!.protoSpec),
      ]),
    )
  }
  const known = await definitions(newer!)
  // The resource types that Talos 1.13.9 registers.
  expect(known.size).toBe(167)
  expect(known.get('disks.block.talos.dev')).toMatchObject({
    resourceType: 'Disks.block.talos.dev',
    displayType: 'Disk',
    defaultNamespace: 'runtime',
    allAliases: ['disks', 'disks.block', 'disks.block.talos', 'disk'],
    printColumns: [
      { name: 'Size', jsonPath: '{.pretty_size}' },
      { name: 'Read Only', jsonPath: '{.readonly}' },
      { name: 'Transport', jsonPath: '{.transport}' },
      { name: 'Rotational', jsonPath: '{.rotational}' },
      { name: 'WWID', jsonPath: '{.wwid}' },
      { name: 'Model', jsonPath: '{.model}' },
      { name: 'Serial', jsonPath: '{.serial}' },
    ],
  })
  expect(
    await Array.fromAsync(
      newer!.list({ namespace: 'files', type: 'EtcFileStatuses.files.talos.dev' }),
    ),
  ).toEqual([])
  expect(
    await Array.fromAsync(
      newer!.list({ namespace: 'runtime', type: 'Environments.runtime.talos.dev' }),
    ),
  ).toEqual([])
  await expect(
    Array.fromAsync(newer!.list({ namespace: 'secrets', type: 'EtcdSecrets.secrets.talos.dev' })),
  ).rejects.toMatchObject({
    rawMessage: 'not authorized',
  })
  expect((await definitions(older!)).has('environments.runtime.talos.dev')).toBe(false)
  await expect(
    Array.fromAsync(older!.list({ namespace: 'runtime', type: 'Environments.runtime.talos.dev' })),
  ).rejects.toMatchObject({
    rawMessage: 'resource type "Environments.runtime.talos.dev" is not supported',
  })
})

test('applying a configuration adds volumes and address lists', async () => {
  const simulator = await fleet({ scenario: rack(1) })
  const [machine] = simulator.servers
  const { state } = insecure(machine!)
  const ids = async (list: AsyncIterable<ListResponse>): Promise<string[]> =>
    (await Array.fromAsync(list)).map(({ resource }) => resource!.metadata!.id).toSorted()
  const volumes = (of: Client<typeof State>): Promise<string[]> =>
    ids(of.list({ namespace: 'runtime', type: 'VolumeStatuses.block.talos.dev' }))
  expect(await volumes(state)).toEqual(['META', 'STATE'])
  // The calls of `talosctl get --insecure`.
  const time = await state.get(
    { namespace: 'runtime', type: 'TimeStatuses.v1alpha1.talos.dev', id: 'node' },
    { headers: { node: '' } },
  )
  expect(
    await ids(state.list({ namespace: 'network', type: 'NodeAddresses.net.talos.dev' })),
  ).toEqual(['accumulative', 'current', 'default', 'routed'])
  expect(time.resource?.spec?.yamlSpec).toContain('epoch: 0')
  const bundle = await secrets()
  await give(machine!, configFor(bundle, machine!, 'control_plane', machine!.plan.address))
  await until(
    'etcd waits for its bootstrap',
    () => machine!.services.get('etcd')?.state === 'Preparing',
  )
  const client = await openSecure(machine!, bundle)
  expect((await client.get(resources.nodeAddress, 'routed-no-k8s'))?.spec.addresses).toHaveLength(1)
  expect((await client.get(resources.nodeAddress, 'routed-only-k8s'))?.spec.addresses).toEqual([])
  expect((await client.list(resources.volumeStatus)).items.map(({ id }) => id).toSorted()).toEqual([
    'EPHEMERAL',
    'META',
    'STATE',
  ])
})

test('an invalid configuration is refused with the reasons and changes nothing', async () => {
  const simulator = await fleet({ scenario: rack(1) })
  const [machine] = simulator.servers
  const client = await openMaintenance(machine!)
  const good = configFor(await secrets(), machine!, 'control_plane', machine!.plan.address)
  const refused = (config: string): Promise<string> =>
    client.applyConfiguration(config, { mode: 'auto' }).then(
      () => 'accepted',
      (reason: Error) => reason.message,
    )
  expect(await refused('')).toContain('config not found')
  expect(await refused('a: [')).toMatch(/decode error: yaml: .* at line 1$/)
  expect(
    await refused(`${good}---\napiVersion: v1alpha1\nkind: HostnameConfig\nhostname: twice\n`),
  ).toMatch(/duplicate document v1alpha1\/HostnameConfig\/ is not allowed \(line \d+\)$/)
  expect(await refused(`${good}---\napiVersion: v1alpha1\nkind: Nonsense\n`)).toMatch(
    /error decoding document v1alpha1\/Nonsense\/ \(line \d+\): "Nonsense" "v1alpha1": not registered/,
  )
  expect(await refused(good.replace('persist: true', 'persist: true\nnonsense: 1'))).toContain(
    'unknown keys found during decoding:\nnonsense: 1',
  )
  expect(await refused(good.replace('v1.36.3', 'v1.29.0'))).toContain(
    'kubelet image is not valid: version of Kubernetes 1.29.0 is too old to be used with Talos 1.13.9',
  )
  expect(await refused(good.replace('type: controlplane', 'type: worker'))).toContain(
    'not allowed on non-controlplane nodes',
  )
  expect(
    await refused(good.replace('auto: stable', 'auto: stable\nhostname: amber-falcon')),
  ).toContain("'auto' and 'hostname' cannot be set at the same time")
  expect(await refused(good.replace(/endpoint: .*/, 'endpoint: x'))).toContain(
    'invalid controlplane endpoint',
  )
  expect(machine!.stage.stage).toBe('maintenance')
  expect(machine!.disk.state.counters.applies).toBe(0)
  const dry = await client.applyConfiguration(good, { mode: 'auto', dryRun: true })
  expect(dry.details).toContain(
    'Dry run summary:\nApplied configuration without a reboot (skipped in dry-run).\nConfig diff:\n\n--- a\n+++ b\n@@ -0,0 +1,',
  )
  const staged = await client.applyConfiguration(good, { mode: 'staged', dryRun: true })
  expect(staged.details).toContain(
    'Staged configuration to be applied after the next reboot (skipped in dry-run).',
  )
  expect(machine!.disk.state.counters.applies).toBe(0)
  expect((await client.applyConfiguration(good, { mode: 'auto' })).mode).toBe('no-reboot')
  expect(machine!.disk.state.counters.applies).toBe(1)
})

test('a server goes through the stages in the order of a real installation', async () => {
  const simulator = await fleet({ scenario: rack(1), speed: 5 })
  const [machine] = simulator.servers
  const seen: string[] = []
  const before = machine!.onStage
  machine!.onStage = (stage) => {
    seen.push(stage)
    before(stage)
  }
  const client = await connectMaintenance(
    { host: machine!.plan.address },
    await readCertificate({ host: machine!.plan.address }),
  )
  await client.applyConfiguration(
    configFor(await secrets(), machine!, 'control_plane', machine!.plan.address),
    { mode: 'auto' },
  )
  client.close()
  simulator.clock.setSpeed(50)
  await until('the second boot', () => machine!.services.get('etcd')?.state === 'Preparing')
  expect(seen).toEqual(['booting', 'installing', 'rebooting', 'booting'])
})

test('a failed installation ends in maintenance, and the next one succeeds', async () => {
  const simulator = await fleet({
    scenario: rack(1, { 1: { faults: [{ kind: 'fail-install', times: 1 }] } }),
  })
  const [machine] = simulator.servers
  const config = configFor(await secrets(), machine!, 'control_plane', machine!.plan.address)
  await give(machine!, config)
  await until(
    'the install failed',
    () =>
      machine!.disk.state.counters.failedInstalls === 1 && machine!.stage.stage === 'maintenance',
  )
  expect(machine!.disk.state.installed).toBeNull()
  await give(machine!, config)
  await until('the install succeeded', () => machine!.disk.state.counters.installs === 1)
  expect(machine!.disk.state.config).toBe(config)
})

test('a watch sends the machine status until the connection ends', async () => {
  const simulator = await fleet({ scenario: rack(1), speed: 5 })
  const [machine] = simulator.servers
  const { state } = insecure(machine!)
  const stages: string[] = []
  const watching = (async () => {
    for await (const { event } of state.watch({
      namespace: 'runtime',
      type: 'MachineStatuses.runtime.talos.dev',
      id: 'machine',
      apiVersion: 1,
    }))
      for (const { resource } of event)
        stages.push(/stage: (.*)/.exec(resource?.spec?.yamlSpec ?? '')?.[1] ?? '')
  })().catch(() => undefined)
  await until('the first event', () => stages.length > 0)
  await give(machine!, configFor(await secrets(), machine!, 'control_plane', machine!.plan.address))
  await watching
  expect(stages.slice(0, 2)).toEqual(['maintenance', 'booting'])
})

test('a thousand servers start with little work', async () => {
  let simulator: Awaited<ReturnType<typeof fleet>> | undefined
  const usedMs = await processorMs(
    async () => (simulator = await fleet({ scenario: { servers: 1000 } })),
  )
  expect(simulator!.servers.every(({ stage }) => stage.stage === 'maintenance')).toBe(true)
  expect(usedMs).toBeLessThan(10_000)
})
