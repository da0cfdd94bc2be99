import { Code, createClient } from '@connectrpc/connect'
import { expect, test } from 'vitest'
import { resources } from '#talos/client/resources.ts'
import { readUnattendedInstall } from '#talos/client/unattended-install.ts'
import {
  ApplyConfigurationRequest_Mode,
  MachineService,
} from '#talos/proto/gen/machine/machine_pb.ts'
import { LVMService, MDService } from '#talos/proto/gen/machine/volumes_pb.ts'
import { issueCertificate } from '#talos/pki/certificates.ts'
import { standardKey } from '#talos/pki/keys.ts'
import type { SecretsBundle } from '#talos/secrets/bundle.ts'
import { storageVersionOf } from './cluster/storage-version.ts'
import { installerProblem } from './machine/installing/preflight.ts'
import type { Machine } from './machine/machine.ts'
import { addFault } from './machine/trouble.ts'
import {
  cluster,
  configFor,
  edit,
  fleet,
  give,
  openSecure,
  rack,
  secrets,
  until,
} from './testing/fleet.ts'
import { as, asker } from './testing/kubernetes.ts'
import { rawTransport } from './testing/transport.ts'

const TALOS = 'v1.14.1'
const run = (version: string, servers: number): object => ({ ...rack(servers), talos: [version] })
const imageOf = (machine: Machine, version: string): string =>
  `factory.talos.dev/metal-installer/${machine.schematic}:${version}`

const upgrade = async (machine: Machine, bundle: SecretsBundle, version: string): Promise<void> => {
  const { bootId } = machine
  const calls = createClient(MachineService, await rawTransport(machine.plan.address, bundle))
  await calls.upgrade({ image: imageOf(machine, version) })
  await until(
    'the machine is back',
    () => machine.bootId !== bootId && machine.stage.stage === 'running' && machine.stage.ready,
  )
}

test('machines of Talos 1.14 are installed by a document while they boot, and become a cluster of Kubernetes 1.37', async () => {
  const simulator = await fleet({ scenario: run(TALOS, 3) })
  const { bundle, controlPlanes, workers } = await cluster(simulator, 1, 2)
  const [machine] = controlPlanes as [Machine]
  expect(machine.config!.text).toContain('kind: UnattendedInstallConfig')
  const client = await openSecure(machine, bundle)
  expect((await client.version()).tag).toBe(TALOS)
  expect(simulator.servers.map(({ disk }) => disk.state.counters)).toMatchObject([
    { boots: 1, installs: 1, bootstraps: 1 },
    { boots: 1, installs: 1 },
    { boots: 1, installs: 1 },
  ])
  const ask = await as(bundle, machine.plan.address)
  expect((await ask('GET', '/version')).body).toMatchObject({ gitVersion: 'v1.37.0' })
  expect((await ask('GET', `/api/v1/nodes/${machine.hostname}`)).body).toMatchObject({
    metadata: { labels: { 'node-role.kubernetes.io/control-plane': '' } },
    spec: { taints: [{ key: 'node-role.kubernetes.io/control-plane', effect: 'NoSchedule' }] },
    status: { nodeInfo: { osImage: 'Talos (v1.14.1)', kubeletVersion: 'v1.37.0' } },
  })
  expect((await ask('GET', `/api/v1/nodes/${workers[0]!.hostname}`)).body).not.toMatchObject({
    metadata: { labels: { 'node-role.kubernetes.io/control-plane': '' } },
  })
})

const logged = (machine: Machine, text: string): boolean =>
  machine.journal.kernelLines.since(0).some((line) => line.includes(text))

test('an installation by a document shows no stage of its own, fails with a status, and is tried again', async () => {
  const faults = [{ kind: 'fail-install', times: 1, when: 'before-partitioning' }]
  const scenario = { ...run(TALOS, 1), special: { 1: { faults } } }
  const simulator = await fleet({ scenario })
  const [machine] = simulator.servers as [Machine]
  const bundle = await secrets()
  const stages = new Set<string>()
  const phases: string[] = []
  const versions: number[] = []
  machine.journal.watch(() => {
    stages.add(machine.stage.stage)
    const status = machine.unattendedInstall
    if (!status || status.phase === phases.at(-1)) return
    phases.push(status.phase)
    versions.push(status.version)
  })
  const { name } = machine.hardware.disks.at(-1)!
  const config = configFor(bundle, machine, 'control_plane', machine.plan.address, {
    installDisk: '/dev/none',
  })
  await give(machine, config)
  await until('no disk matches', () => phases.at(-1) === 'pending')
  const client = await openSecure(machine, bundle)
  expect((await client.get(resources.unattendedInstall, 'unattended-install'))!.spec).toMatchObject(
    {
      image: imageOf(machine, TALOS),
      error: 'no disk matched the selector',
    },
  )
  expect(await readUnattendedInstall(client)).toEqual({
    phase: 'pending',
    error: 'no disk matched the selector',
    attempt: null,
    version: '1',
  })
  await expect(client.bootstrap()).rejects.toThrow('bootstrap is not available yet')
  await client.applyConfiguration(config.replace('/dev/none', `/dev/${name}`), { mode: 'auto' })
  await until('it has restarted', () => machine.disk.state.counters.boots === 1)
  await until('etcd waits for its bootstrap', () => machine.bootstrapEtcd !== null)
  expect(phases.slice(0, 5)).toEqual([
    'pending',
    'installing',
    'failed',
    'installing',
    'waiting-for-reboot',
  ])
  // Pending, and two attempts, one of which has failed.
  expect(versions.slice(0, 5)).toEqual([1, 2, 3, 4, 5])
  expect(machine.unattendedInstall?.phase).toBe('installed')
  expect(machine.disk.state).toMatchObject({
    installed: { version: TALOS, disk: name },
    counters: { failedInstalls: 1, installs: 1 },
  })
  expect(stages).not.toContain('installing')
})

test('a half-installed disk counts as installed, and the machine boots from memory', async () => {
  const faults = [{ kind: 'fail-install', times: 1, when: 'boot-loader' }]
  const scenario = { ...run(TALOS, 1), special: { 1: { faults } } }
  const simulator = await fleet({ scenario })
  const [machine] = simulator.servers as [Machine]
  const bundle = await secrets()
  await give(machine, configFor(bundle, machine, 'control_plane', machine.plan.address))
  await until('it counts as installed', () => machine.unattendedInstall?.phase === 'installed')
  expect(logged(machine, 'failed to install bootloader')).toBe(true)
  expect(logged(machine, 'Usage:')).toBe(false)
  expect(machine.bootedFromDisk).toBe(false)
  expect(machine.disk.state).toMatchObject({ half: 'without-boot-loader' })
})

test('a running machine of Talos 1.13 is upgraded to 1.14 with its configuration, and Kubernetes follows', async () => {
  const simulator = await fleet({ scenario: run('v1.13.9', 1) })
  const { bundle, controlPlanes } = await cluster(simulator, 1, 0)
  const [machine] = controlPlanes as [Machine]
  const before = machine.config!.text
  await upgrade(machine, bundle, TALOS)
  expect(machine.config!.text).toBe(before)
  expect(machine.talosVersion).toBe(TALOS)
  const client = await openSecure(machine, bundle)
  const settings = (await client.list(resources.apiServerConfig)).items.map(({ id }) => id)
  expect(settings.toSorted()).toEqual(['final-kube-apiserver', 'kube-apiserver'])
  await edit(machine, bundle, /:v1\.36\.3/g, ':v1.37.0')
  await until(
    'Kubernetes 1.37 runs',
    () => machine.stage.ready && machine.config!.node!.kubeletVersion === 'v1.37.0',
  )
})

test('a running machine of Talos 1.14 never reboots for a configuration, and its trials survive dry runs', async () => {
  const simulator = await fleet({ scenario: run(TALOS, 1) })
  const { bundle, controlPlanes } = await cluster(simulator, 1, 0)
  const [machine] = controlPlanes as [Machine]
  const client = await openSecure(machine, bundle)
  const { bootId } = machine
  const before = machine.config!.text
  const other = before.replace('diskQuotaSupport: true', 'diskQuotaSupport: false')
  const calls = createClient(MachineService, await rawTransport(machine.plan.address, bundle))
  const data = new TextEncoder().encode(other)
  await expect(
    calls.applyConfiguration({ data, mode: ApplyConfigurationRequest_Mode.REBOOT }),
  ).rejects.toThrow('the REBOOT mode is not supported, please use AUTO or NO_REBOOT modes instead')
  await client.applyConfiguration(other, { mode: 'try' })
  expect(await client.applyConfiguration(other, { mode: 'auto', dryRun: true })).toMatchObject({
    details: expect.stringContaining('Applied configuration without a reboot (skipped in dry-run)'),
  })
  await expect(client.applyConfiguration('{', { mode: 'no-reboot' })).rejects.toMatchObject({
    kind: 'invalid_argument',
  })
  expect(machine.cancelTry).not.toBeNull()
  expect((await client.applyConfiguration(other, { mode: 'auto' })).mode).toBe('no-reboot')
  expect(machine.cancelTry).toBeNull()
  expect(machine.bootId).toBe(bootId)
})

test("etcd of Talos 1.14 serves its health, version and metrics on a port of its own, to clients of etcd's authority", async () => {
  const simulator = await fleet({ scenario: run(TALOS, 1) })
  const { bundle, controlPlanes } = await cluster(simulator, 1, 0)
  const [machine] = controlPlanes as [Machine]
  const { etcd } = bundle.certs
  const { crt, key } = await issueCertificate(etcd, {
    subject: { commonName: 'prometheus' },
    usages: ['client'],
    lifetimeMs: 3_600_000,
    now: new Date(),
  })
  const tls = { port: 2383, ca: etcd.crt, cert: crt, key: standardKey(key) }
  const get = asker(machine.plan.address, tls)
  const health = async () => {
    const { status, body } = await get('GET', '/health')
    return { status, ...body }
  }
  expect(await health()).toEqual({ status: 200, health: 'true', reason: '' })
  expect((await get('GET', '/readyz')).text).toBe('ok\n')
  expect((await get('GET', '/version')).body).toEqual({
    etcdserver: '3.7.1',
    etcdcluster: '3.7.0',
    storage: '3.7.0',
  })
  expect((await get('GET', '/metrics')).text).toContain('\netcd_server_has_leader 1\n')
  expect((await get('POST', '/health')).status).toBe(405)

  await expect(
    asker(machine.plan.address, { port: 2383, ca: etcd.crt })('GET', '/health'),
  ).rejects.toThrow(/certificate required|reset|hang up/)
  await expect(
    asker(machine.plan.address, { ...tls, maxVersion: 'TLSv1.2' })('GET', '/health'),
  ).rejects.toThrow('protocol version')

  await addFault(machine, { kind: 'etcd-alarm', alarm: 'nospace' })
  expect(await health()).toEqual({ status: 503, health: 'false', reason: 'ALARM NOSPACE' })
  await machine.lifecycle.powerOff()
  await expect(health()).rejects.toMatchObject({ code: 'ECONNREFUSED' })
})

test('a machine of Talos 1.14 has no LVM volumes and no RAID arrays to remove, and says so as Talos does', async () => {
  const simulator = await fleet({ scenario: run(TALOS, 1) })
  const { bundle, controlPlanes } = await cluster(simulator, 1, 0)
  const [machine] = controlPlanes as [Machine]
  const services = async (roles?: Parameters<typeof rawTransport>[2]) => {
    const transport = await rawTransport(machine.plan.address, bundle, roles)
    return { lvm: createClient(LVMService, transport), md: createClient(MDService, transport) }
  }
  const { lvm, md } = await services()
  const other = machine.hardware.disks.find(({ name }) => name !== machine.systemDisk)!
  const calls: [Promise<unknown>, Code, string][] = [
    [lvm.volumeGroupRemove({ volumeGroup: 'vg0' }), Code.NotFound, 'lvm: resource not found'],
    [
      lvm.logicalVolumeRemove({ volumeGroup: 'vg0' }),
      Code.InvalidArgument,
      'volume_group and logical_volume must be set',
    ],
    [
      lvm.physicalVolumeRemove({ device: `/dev/${machine.systemDisk}` }),
      Code.FailedPrecondition,
      'lvm: device is partitioned',
    ],
    [
      lvm.physicalVolumeRemove({ device: `/dev/${other.name}` }),
      Code.Internal,
      'lvm operation failed',
    ],
    [md.destroy({ device: '/dev/md/data' }), Code.NotFound, 'md: array not found'],
    [md.destroy({ device: 'data' }), Code.InvalidArgument, 'device must be a full /dev path'],
  ]
  for (const [call, code, rawMessage] of calls)
    await expect(call).rejects.toMatchObject({ code, rawMessage })
  const reader = await services(['os:reader'])
  await expect(reader.md.destroy({ device: '/dev/md/data' })).rejects.toMatchObject({
    code: Code.PermissionDenied,
  })
})

test('a machine that was moved to documents cannot go back to Talos 1.13, and an installer of 1.13 refuses it', async () => {
  const simulator = await fleet({ scenario: run('v1.13.9', 2) })
  const { bundle, controlPlanes, workers } = await cluster(simulator, 1, 1)
  const [machine] = workers as [Machine]
  await upgrade(machine, bundle, TALOS)
  const rollback = async (): Promise<string> => {
    const { bootId } = machine
    await createClient(MachineService, await rawTransport(machine.plan.address, bundle)).rollback(
      {},
    )
    await until('it boots', () => machine.bootId !== bootId)
    return bootId
  }
  await rollback()
  await until('Talos 1.13 runs', () => machine.talosVersion === 'v1.13.9' && machine.stage.ready)
  await until('it has joined', () => machine.nodeReady)
  await upgrade(machine, bundle, TALOS)

  const moved = configFor(bundle, machine, 'worker', controlPlanes[0]!.plan.address, {
    kubernetesVersion: '1.36.3',
  })
  await (await openSecure(machine, bundle)).applyConfiguration(moved, { mode: 'no-reboot' })
  await until('STATE has it', () => machine.disk.state.config === moved)
  expect(installerProblem(machine, imageOf(machine, 'v1.13.9'))).toMatch(
    /^error loading machine configuration: .*not registered$/,
  )
  await rollback()
  await until('the configuration can not be loaded', () =>
    logged(machine, 'failed to load config from STATE'),
  )
  expect([machine.talosVersion, machine.mode]).toEqual(['v1.13.9', 'off'])
})

test('an installer of Talos 1.14 refuses a machine with Kubernetes 1.31, which keeps its version', async () => {
  const simulator = await fleet({ scenario: run('v1.12.11', 1) })
  const [machine] = simulator.servers as [Machine]
  const bundle = await secrets()
  const config = configFor(bundle, machine, 'worker', '127.0.0.1', { kubernetesVersion: '1.31.14' })
  machine.activate(config)
  expect(installerProblem(machine, imageOf(machine, TALOS))).toContain(
    'version of Kubernetes 1.31.14 is too old to be used with Talos 1.14.1',
  )
  expect(installerProblem(machine, imageOf(machine, 'v1.13.9'))).toBeNull()
  machine.activate(config.replaceAll('v1.31.14', 'v1.35.4'))
  expect(installerProblem(machine, imageOf(machine, TALOS))).toBeNull()
})

test("etcd of Talos 1.13 doesn't start in a cluster whose members are all of 1.14", async () => {
  const simulator = await fleet({ scenario: run('v1.13.9', 1) })
  const { bundle, controlPlanes } = await cluster(simulator, 1, 0)
  const [machine] = controlPlanes as [Machine]
  await upgrade(machine, bundle, TALOS)
  expect(storageVersionOf(machine.etcdCluster!)).toBe('3.7.0')
  const calls = createClient(MachineService, await rawTransport(machine.plan.address, bundle))
  const { bootId } = machine
  await calls.rollback({})
  await until(
    'etcd ends again and again',
    () =>
      machine.bootId !== bootId &&
      machine.services.get('etcd')?.state === 'Waiting' &&
      machine.journal
        .logLines('etcd')!
        .since(0)
        .some((line) => line.includes('invalid downgrade')),
  )
})
