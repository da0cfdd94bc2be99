import { Code, createClient } from '@connectrpc/connect'
import type { DescMessage } from '@bufbuild/protobuf'
import { expect, test } from 'vitest'
import type { TalosClient } from '#talos/client/client.ts'
import { readInventory } from '#talos/client/inventory.ts'
import { StorageMDArrayPhase as Phase } from '#talos/proto/gen/definitions/enums_pb.ts'
import * as storage from '#talos/proto/gen/definitions/storage_pb.ts'
import { LVMService, MDService } from '#talos/proto/gen/machine/volumes_pb.ts'
import { StorageService } from '#talos/proto/gen/storage/storage_pb.ts'
import type { SecretsBundle } from '#talos/secrets/bundle.ts'
import { cluster, fleet, openSecure, rack, until } from '../../testing/fleet.ts'
import { rawTransport } from '../../testing/transport.ts'
import type { Machine } from '../machine.ts'

const GIB = 1024 ** 3

const scenario = (contents: Record<string, string> = {}): object => ({
  ...rack(1, { 1: { hardware: 'dell-r760', contents } }),
  talos: ['v1.14.1'],
})

const array = (match: string, name = 'data'): string =>
  `---\napiVersion: v1alpha1\nkind: RAIDArrayConfig\nname: ${name}\nlevel: raid1\nprovisioning:\n  volumeSelector:\n    match: ${match}\n`
const group = (match: string, name = 'pool'): string =>
  `---\napiVersion: v1alpha1\nkind: LVMVolumeGroupConfig\nname: ${name}\nprovisioning:\n  volumeSelector:\n    match: ${match}\n`
const volume = (name: string, maxSize: string, more = 'type: linear'): string =>
  `---\napiVersion: v1alpha1\nkind: LVMLogicalVolumeConfig\nname: ${name}\n${more}\nprovisioning:\n  volumeGroup: pool\n  maxSize: ${maxSize}\n`
const among = (...disks: string[]): string =>
  `disk.dev_path in [${disks.map((disk) => `"/dev/${disk}"`).join(', ')}]`

/** A machine of Talos 1.14 with six disks, which is a control plane on the first. */
const made = async (contents: Record<string, string> = {}) => {
  const simulator = await fleet({ scenario: scenario(contents) })
  const { bundle, controlPlanes } = await cluster(simulator, 1, 0)
  const [machine] = controlPlanes as [Machine]
  const client = await openSecure(machine, bundle)
  const base = machine.config!.text
  const services = async () => {
    const transport = await rawTransport(machine.plan.address, bundle)
    return {
      lvm: createClient(LVMService, transport),
      md: createClient(MDService, transport),
      storage: createClient(StorageService, transport),
    }
  }
  return {
    bundle,
    machine,
    client,
    ...(await services()),
    apply: (...documents: string[]) =>
      client.applyConfiguration(base + documents.join(''), { mode: 'no-reboot' }),
  }
}

const list = async <Desc extends DescMessage>(client: TalosClient, type: string, spec: Desc) =>
  (await client.list({ namespace: 'storage', type: `${type}.storage.talos.dev`, spec })).items
const arraysOf = (client: TalosClient) =>
  list(client, 'MDArrayStatuses', storage.MDArrayStatusSpecSchema)
const groupsOf = (client: TalosClient) =>
  list(client, 'LVMVolumeGroupStatuses', storage.LVMVolumeGroupStatusSpecSchema)
const physicalOf = (client: TalosClient) =>
  list(client, 'LVMPhysicalVolumeStatuses', storage.LVMPhysicalVolumeStatusSpecSchema)
const logicalOf = (client: TalosClient) =>
  list(client, 'LVMLogicalVolumeStatuses', storage.LVMLogicalVolumeStatusSpecSchema)
const problemsOf = async (client: TalosClient) =>
  (await list(client, 'LVMValidationErrors', storage.LVMValidationErrorSpecSchema)).map(
    ({ id, spec }) => [id, spec.message],
  )
const contentOf = async (client: TalosClient, disk: string): Promise<string | undefined> =>
  (await readInventory(client)).disks.find(({ id }) => id === disk)?.content

const restart = async (machine: Machine, bundle: SecretsBundle): Promise<TalosClient> => {
  const { bootId } = machine
  machine.lifecycle.request({ kind: 'reboot' })
  await until(
    'the machine is back',
    () => machine.bootId !== bootId && machine.stage.stage === 'running' && machine.stage.ready,
  )
  return openSecure(machine, bundle)
}

test('a RAID is created of the members that its document selects, grows with them, and is assembled after a restart', async () => {
  const { apply, bundle, client, machine } = await made()
  await apply(array(among('nvme1n1')))
  expect((await arraysOf(client)).map(({ id, spec }) => [id, spec.status, spec.error])).toEqual([
    [
      'data',
      Phase.MD_ARRAY_PHASE_WAITING,
      'waiting for enough member disks: matched 1, required 2',
    ],
  ])
  await apply(array(among('nvme1n1', 'nvme2n1')))
  const [first] = await arraysOf(client)
  expect(first!.spec).toMatchObject({
    status: Phase.MD_ARRAY_PHASE_READY,
    device: '/dev/disk/by-id/md-name-talos:data',
    members: ['/dev/nvme1n1', '/dev/nvme2n1'],
    raidDevices: 2n,
    name: 'talos:data',
    metadata: '1.0',
    syncAction: 'idle',
  })
  expect(await contentOf(client, 'nvme1n1')).toBe(
    'member of a Linux RAID "talos:data", in use by md0',
  )

  // So slow that the new member cannot have its data before the test looks.
  machine.plan.slowness = 300
  await apply(array(among('nvme1n1', 'nvme2n1', 'nvme3n1')))
  expect((await arraysOf(client))[0]!.spec).toMatchObject({
    status: Phase.MD_ARRAY_PHASE_REBUILDING,
    members: ['/dev/nvme1n1', '/dev/nvme2n1', '/dev/nvme3n1'],
    raidDevices: 3n,
    syncAction: 'recover',
  })
  machine.plan.slowness = 1
  const after = await restart(machine, bundle)
  await until(
    'the new member has its data',
    async () => (await arraysOf(after))[0]!.spec.status === Phase.MD_ARRAY_PHASE_READY,
  )
  expect((await arraysOf(after))[0]!.spec).toMatchObject({
    uuid: first!.spec.uuid,
    raidDevices: 3n,
  })
})

test('a RAID stays without its document, refuses wipes of its members, and is removed by a call', async () => {
  const { apply, client, machine, md, storage: disks } = await made()
  await apply(array(among('nvme1n1', 'nvme2n1')))
  await apply()
  expect(await arraysOf(client)).toEqual([])
  expect(await contentOf(client, 'nvme1n1')).toBe(
    'member of a Linux RAID "talos:data", in use by md0',
  )
  const wipe = (device: string, skipSecondaryCheck = false) =>
    disks.blockDeviceWipe({ devices: [{ device, skipSecondaryCheck }] })
  await expect(wipe('nvme1n1')).rejects.toMatchObject({
    code: Code.FailedPrecondition,
    rawMessage: 'blockdevice "nvme1n1" is in use by disk "md0"',
  })
  await expect(wipe('nvme1n1', true)).rejects.toMatchObject({
    rawMessage: 'block device "nvme1n1" is mounted or in use',
  })
  await expect(md.destroy({ device: '/dev/md7' })).rejects.toMatchObject({ code: Code.NotFound })
  await md.destroy({ device: '/dev/disk/by-id/md-name-talos:data' })
  expect(machine.disk.state.volumes!.arrays).toEqual([])
  expect(await contentOf(client, 'nvme1n1')).toBe('empty')
  // With its document, Talos creates an array again that a call has removed.
  await apply(array(among('nvme1n1', 'nvme2n1')))
  const before = (await arraysOf(client))[0]!.spec.uuid
  await md.destroy({ device: '/dev/md0' })
  expect((await arraysOf(client))[0]!.spec.uuid).not.toBe(before)
})

test('a group and its volumes are created of the disks that the document selects, and grow but never shrink', async () => {
  const { apply, client } = await made()
  const members = group(among('nvme1n1', 'nvme2n1'))
  await apply(
    members,
    volume('data', '100GiB'),
    volume('mirror', '50%', 'type: raid1'),
    volume('wide', '10GiB', 'type: raid10'),
  )
  const [pool] = await groupsOf(client)
  const physical = await physicalOf(client)
  expect(physical.map(({ id, spec }) => [id, spec.vgName, spec.inUse])).toEqual([
    ['nvme1n1', 'pool', 'used'],
    ['nvme2n1', 'pool', 'used'],
  ])
  expect(pool!.spec).toMatchObject({ name: 'pool', pvCount: '2', lvCount: '2', partial: '' })
  expect(Number(pool!.spec.size)).toBe(
    physical.reduce((sum, { spec }) => sum + Number(spec.size), 0),
  )
  const logical = await logicalOf(client)
  expect(logical.map(({ id, spec }) => [id, spec.layout, spec.path])).toEqual([
    ['pool-data', 'linear', '/dev/pool/data'],
    ['pool-mirror', 'raid,raid1', '/dev/pool/mirror'],
  ])
  expect(Number(logical[0]!.spec.size)).toBe(100 * GIB)
  // Half of the group, for two copies.
  expect(Number(logical[1]!.spec.size) / Number(pool!.spec.size)).toBeCloseTo(0.25, 4)
  expect(await problemsOf(client)).toEqual([
    ['pool/wide', 'volume group has too few physical volumes for the requested layout'],
  ])
  expect(await contentOf(client, 'nvme1n1')).toBe('LVM physical volume')

  const sizeOf = async () => Number((await logicalOf(client))[0]!.spec.size) / GIB
  await apply(members, volume('data', '200GiB'))
  expect(await sizeOf()).toBe(200)
  await apply(members, volume('data', '150GiB'))
  expect(await sizeOf()).toBe(200)
  expect(await problemsOf(client)).toEqual([
    [
      'pool/data',
      `requested size ${150 * GIB} bytes is smaller than current size ${200 * GIB} bytes; shrinking logical volumes is not supported`,
    ],
  ])
})

test('a disk goes to one group only, and calls remove volumes, groups and labels that are not in use', async () => {
  const { apply, client, lvm } = await made()
  await apply(
    group(among('nvme1n1', 'nvme2n1', 'nvme3n1')),
    group(among('nvme3n1', 'sdb'), 'other'),
    volume('data', '10GB'),
  )
  expect((await groupsOf(client)).map(({ id, spec }) => [id, spec.pvCount])).toEqual([
    ['pool', '3'],
    ['other', '1'],
  ])
  expect(await problemsOf(client)).toEqual([
    ['other', 'device "/dev/nvme3n1" already claimed by volume group "pool"'],
  ])
  // Without their documents, Talos doesn't create again what is removed.
  await apply()
  await expect(lvm.physicalVolumeRemove({ device: '/dev/nvme1n1' })).rejects.toMatchObject({
    code: Code.FailedPrecondition,
    rawMessage: 'lvm: resource in use',
  })
  await lvm.logicalVolumeRemove({ volumeGroup: 'pool', logicalVolume: 'data' })
  expect(await logicalOf(client)).toEqual([])
  await lvm.volumeGroupRemove({ volumeGroup: 'pool' })
  expect((await groupsOf(client)).map(({ id }) => id)).toEqual(['other'])
  await lvm.physicalVolumeRemove({ device: '/dev/nvme1n1' })
  expect(await contentOf(client, 'nvme1n1')).toBe('empty')
  expect((await physicalOf(client)).map(({ id }) => id)).not.toContain('nvme1n1')
})

test('a group lies on a RAID, which is not removed while a volume is in use', async () => {
  const { apply, client, md } = await made()
  await apply(
    array(among('nvme1n1', 'nvme2n1'), 'mirror'),
    group('disk.dev_path == "/dev/md0"'),
    volume('data', '1GiB'),
  )
  expect((await physicalOf(client)).map(({ id, spec }) => [id, spec.vgName])).toEqual([
    ['md0', 'pool'],
  ])
  await expect(md.destroy({ device: '/dev/md0' })).rejects.toMatchObject({
    code: Code.FailedPrecondition,
    rawMessage: 'md: resource in use',
  })
})

test('a disk with data is not taken for a group, a lost disk makes it partial, and a label from before is used', async () => {
  const { apply, bundle, client, machine } = await made({ nvme0n1: 'ext4', nvme3n1: 'lvm' })
  await apply(group(among('nvme0n1', 'nvme1n1')))
  expect(await groupsOf(client)).toEqual([])
  expect(machine.journal.kernelLines.since(0).some((line) => line.includes('pvcreate'))).toBe(true)
  await apply(group(among('nvme2n1', 'nvme3n1')))
  expect((await groupsOf(client))[0]!.spec).toMatchObject({ pvCount: '2', missingPvCount: '0' })
  machine.disk.change((state) => (state.disks = 'lost'))
  machine.reread()
  const after = await restart(machine, bundle)
  expect((await groupsOf(after))[0]!.spec).toMatchObject({
    pvCount: '2',
    missingPvCount: '1',
    partial: 'partial',
  })
  expect((await physicalOf(after)).map(({ spec }) => [spec.device, spec.missing])).toContainEqual([
    '[unknown]',
    'missing',
  ])
})
