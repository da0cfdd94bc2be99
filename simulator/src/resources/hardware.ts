import { hasFeature } from '../config/versions.ts'
import {
  MemoryModuleSpecSchema,
  PCIDeviceSpecSchema,
  ProcessorSpecSchema,
  SystemInformationSpecSchema,
} from '#talos/proto/gen/definitions/hardware_pb.ts'
import {
  DiscoveredVolumeSpecSchema,
  DiskSpecSchema,
  SystemDiskSpecSchema,
  VolumeStatusSpecSchema,
} from '#talos/proto/gen/definitions/block_pb.ts'
import { BlockFilesystemType, BlockVolumePhase } from '#talos/proto/gen/definitions/enums_pb.ts'
import type { Machine, Partition } from '../machine/machine.ts'
import { partitionName, partitionsOf } from '../machine/installing/partitions.ts'
import { item, kind, prettySize, snakeCased, type Item, type Kind } from './resource.ts'
import { labelOf, stackedDisks, stackedVolumes } from './stacked.ts'
import type { Disk } from '../fleet/hardware.ts'
import type { DiskContent } from '../fleet/media.ts'

// Contents of disks, in Talos's terms (go-blockdevice `blkid`).

interface Found {
  name: string
  label: string
  parts: Partition[]
}

const whole = (name: string, label = ''): ((disk: Disk) => Found) => {
  return () => ({ name, label, parts: [] })
}

const partitioned =
  (...parts: readonly Pick<Partition, 'label' | 'filesystem' | 'partitionLabel'>[]) =>
  (disk: Disk): Found => ({
    name: 'gpt',
    label: '',
    parts: parts.map((part, i) => ({
      ...part,
      name: partitionName(disk.name, i + 1),
      size:
        i < parts.length - 1
          ? 1_073_741_824
          : disk.sizeBytes - (parts.length - 1) * 1_073_741_824 - 2_097_152,
      index: i + 1,
    })),
  })

const contents: Record<Exclude<DiskContent, 'unreadable'>, (disk: Disk) => Found> = {
  ext4: whole('extfs', 'data'),
  xfs: whole('xfs', 'backup'),
  system: partitioned(
    { label: '', partitionLabel: 'EFI System Partition', filesystem: 'vfat' },
    { label: '', partitionLabel: 'swap', filesystem: 'swap' },
    { label: 'root', partitionLabel: 'Linux filesystem', filesystem: 'extfs' },
  ),
  raid: whole('linux_raid_member', 'nas:0'),
  lvm: whole('lvm2-pv'),
  ceph: whole('bluestore'),
  zfs: partitioned(
    { label: 'tank', partitionLabel: 'zfs-1f', filesystem: 'zfs' },
    { label: '', filesystem: '' },
  ),
  swap: whole('swap'),
  luks: whole('luks'),
  talos: partitioned(
    { label: 'EFI', filesystem: 'vfat' },
    { label: 'META', filesystem: 'talosmeta' },
    { label: 'STATE', filesystem: 'xfs' },
    { label: 'EPHEMERAL', filesystem: 'xfs' },
  ),
  table: partitioned(),
}

const volumesOf = (content: Exclude<DiskContent, 'unreadable'> | undefined, disk: Disk): Found =>
  content === undefined ? { name: '', label: '', parts: [] } : contents[content](disk)

const dashed = (text: string): string => text.replaceAll(' ', '-')

const processors = (machine: Machine): Item[] =>
  machine.hardware.sockets.map(({ name, processor, serial }) => {
    const spec = {
      socket: name,
      manufacturer: processor.manufacturer,
      productName: processor.product,
      maxSpeed: processor.maxSpeedMhz,
      bootSpeed: processor.baseSpeedMhz,
      status: 65,
      serialNumber: serial,
      partNumber: processor.partNumber,
      coreCount: processor.cores,
      coreEnabled: processor.cores,
      threadCount: processor.threads,
    }
    return item(dashed(name), ProcessorSpecSchema, spec)
  })

const memoryModules = (machine: Machine): Item[] =>
  machine.hardware.memory.map(({ locator, bank, module, serial }) => {
    const id = dashed(
      hasFeature(machine.talosMinor, 'banksInMemoryIds') && bank !== ''
        ? `${locator} ${bank}`
        : locator,
    )
    if (!module) return item(id, MemoryModuleSpecSchema, {})
    const spec = {
      size: module.sizeMib,
      deviceLocator: locator,
      bankLocator: bank,
      speed: module.speed,
      manufacturer: module.manufacturer,
      serialNumber: serial,
      productName: module.product,
    }
    return item(id, MemoryModuleSpecSchema, spec, { size: undefined, sizeMiB: spec.size })
  })

/**
 * Manufacturer, product and ids of the machine. The version field contains a note that the hardware
 * is simulated.
 */
const systemInformation = (machine: Machine): Item[] => {
  const { uuid, serial } = machine.disk.identity
  const spec = {
    manufacturer: machine.hardware.manufacturer,
    productName: machine.hardware.product,
    version: 'Simulated',
    serialNumber: serial,
    uuid,
    wakeUpType: 'Power Switch',
    skuNumber: machine.hardware.sku,
  }
  return [
    item('systeminformation', SystemInformationSpecSchema, spec, {
      serialNumber: undefined,
      serialnumber: serial,
    }),
  ]
}

const pciDevices = (machine: Machine): Item[] =>
  machine.hardware.links.map(({ busPath, nic }) => {
    const spec = {
      class: 'Network controller',
      subclass: 'Ethernet controller',
      vendor: nic.vendor,
      product: nic.product,
      classId: '0x02',
      subclassId: '0x00',
      vendorId: nic.vendorId,
      productId: nic.productId,
      driver: nic.driver,
    }
    return item(busPath, PCIDeviceSpecSchema, spec, snakeCased)
  })

const disks = (machine: Machine): Item[] => [
  ...machine.hardware.disks.map((disk) => {
    const spec = {
      size: BigInt(disk.sizeBytes),
      ioSize: disk.transport === 'nvme' ? 131_072n : 512n,
      sectorSize: 512n,
      readonly: disk.readonly,
      model: disk.model,
      serial: disk.serial,
      modalias: disk.transport === 'nvme' ? '' : 'scsi:t-0x00',
      wwid: disk.wwid,
      busPath: disk.busPath,
      subSystem: '/sys/class/block',
      transport: disk.transport,
      rotational: disk.rotational,
      cdrom: false,
      devPath: `/dev/${disk.name}`,
      prettySize: prettySize(disk.sizeBytes),
      secondaryDisks: [],
      uuid: '',
      symlinks: disk.wwid === '' ? [] : [`/dev/disk/by-id/wwn-0x${disk.wwid.split('.')[1]}`],
    }
    return item(disk.name, DiskSpecSchema, spec, snakeCased)
  }),
  ...stackedDisks(machine),
  // Every running Talos mounts its own image from loop devices.
  ...[0, 1].map((number) => {
    const spec = {
      size: 77_402_112n,
      ioSize: 512n,
      sectorSize: 512n,
      readonly: true,
      subSystem: '/sys/class/block',
      transport: '',
      devPath: `/dev/loop${number}`,
      prettySize: '77 MB',
      secondaryDisks: [],
      symlinks: [],
    }
    return item(`loop${number}`, DiskSpecSchema, spec, snakeCased)
  }),
]

const systemDisks = (machine: Machine): Item[] => {
  const name = machine.systemDisk
  return name === null
    ? []
    : [item('system-disk', SystemDiskSpecSchema, { diskId: name, devPath: `/dev/${name}` })]
}

/**
 * Volumes on the disks: Talos's partitions on the system disk, the scenario's contents elsewhere.
 */
const discoveredVolumes = (machine: Machine): Item[] => [
  ...disksWithContents(machine),
  ...stackedVolumes(machine),
]

const disksWithContents = (machine: Machine): Item[] =>
  machine.hardware.disks.flatMap((disk) => {
    const isSystem = disk.name === machine.systemDisk
    const holds = isSystem ? undefined : machine.disk.state.contents?.[disk.name]
    // Talos doesn't list disks that it can't read.
    if (holds === 'unreadable') return []
    const found = isSystem
      ? { name: 'gpt', label: '', parts: partitionsOf(machine) }
      : machine.wiped?.disk === disk.name
        ? {
            name: '',
            label: '',
            parts: machine.wiped.parts.map((part) => ({
              ...part,
              label: '',
              partitionLabel: '',
              index: 0,
            })),
          }
        : volumesOf(holds, disk)
    const label = labelOf(machine, disk.name, found.label)
    const spec = {
      size: BigInt(disk.sizeBytes),
      sectorSize: 512n,
      ioSize: 512n,
      name: found.name,
      ...(label !== '' && { label }),
      type: 'disk',
      devicePath: disk.busPath,
      devPath: `/dev/${disk.name}`,
      prettySize: prettySize(disk.sizeBytes),
    }
    return [
      item(disk.name, DiscoveredVolumeSpecSchema, spec, snakeCased),
      ...found.parts.map((part) => partitionItem(disk.name, part)),
    ]
  })

const partitionItem = (parent: string, part: Partition): Item => {
  const spec = {
    size: BigInt(part.size),
    sectorSize: 512n,
    ioSize: 512n,
    name: part.filesystem,
    label: part.label,
    partitionLabel: part.partitionLabel ?? part.label,
    partitionIndex: BigInt(part.index),
    type: 'partition',
    parent,
    devPath: `/dev/${part.name}`,
    parentDevPath: `/dev/${parent}`,
    prettySize: prettySize(part.size),
  }
  return item(part.name, DiscoveredVolumeSpecSchema, spec, snakeCased)
}

const volumeStatuses = (machine: Machine): Item[] => {
  // Talos doesn't look for a volume again that it has found, so META stays where it was in this
  // boot.
  const system = machine.wiped?.disk ?? machine.systemDisk
  const parts =
    machine.wiped?.parts.filter(({ label }) => label === 'META') ?? partitionsOf(machine)
  // Without a configuration there are only META and STATE (Talos:
  // controllers/block/volume_config.go).
  const labels = machine.config?.node ? ['META', 'STATE', 'EPHEMERAL'] : ['META', 'STATE']
  return labels.map((label) => {
    const part = parts.find((candidate) => candidate.label === label && candidate.filesystem !== '')
    const isReady = part !== undefined
    const isFailed = machine.wiped !== null && label === 'STATE'
    const phase = isReady
      ? 'ready'
      : isFailed
        ? 'failed'
        : system !== null && label === 'EPHEMERAL'
          ? 'waiting'
          : 'missing'
    const filesystem =
      part?.filesystem === 'xfs'
        ? BlockFilesystemType.FILESYSTEM_TYPE_XFS
        : BlockFilesystemType.FILESYSTEM_TYPE_NONE
    const size = isReady ? part.size : 0
    const spec = {
      phase: BlockVolumePhase[`VOLUME_PHASE_${phase.toUpperCase() as Uppercase<typeof phase>}`],
      location: isReady ? `/dev/${part.name}` : '',
      parentLocation: isReady ? `/dev/${system}` : '',
      errorMessage: isFailed
        ? 'error evaluating disk locator: no such attribute(s): system_disk'
        : '',
      size: BigInt(size),
      filesystem,
      prettySize: isReady ? prettySize(size) : '',
    }
    return item(label, VolumeStatusSpecSchema, spec, {
      phase,
      type: 'partition',
      filesystem: part?.filesystem === 'xfs' ? 'xfs' : 'none',
    })
  })
}

export const HARDWARE: Kind[] = [
  kind('Processors.hardware.talos.dev', processors),
  kind('MemoryModules.hardware.talos.dev', memoryModules),
  kind('SystemInformations.hardware.talos.dev', systemInformation),
  kind('PCIDevices.hardware.talos.dev', pciDevices),
  kind('Disks.block.talos.dev', disks),
  kind('SystemDisks.block.talos.dev', systemDisks),
  kind('DiscoveredVolumes.block.talos.dev', discoveredVolumes),
  kind('VolumeStatuses.block.talos.dev', volumeStatuses),
]
