/** RAID arrays and LVM volumes: their documents, and what is on the disks. */
import {
  StorageLVMLogicalVolumeType as LogicalType,
  StorageMDArrayPhase as Phase,
  StorageMDMetadata as Metadata,
} from '#talos/proto/gen/definitions/enums_pb.ts'
import * as storage from '#talos/proto/gen/definitions/storage_pb.ts'
import type { Machine } from '../machine/machine.ts'
import { arrayPath, arrayStatus, stampedName } from '../machine/volumes/arrays.ts'
import {
  arraySpecs,
  claims,
  groupSpecs,
  type LogicalSpec,
  logicalSpecs,
} from '../machine/volumes/documents.ts'
import {
  extentsIn,
  freeOn,
  isPartial,
  isPresent,
  logicalProblem,
  physicalOf,
} from '../machine/volumes/groups.ts'
import { mappedVolumes } from '../machine/volumes/settle.ts'
import { EXTENT_BYTES, type Layout, noVolumes, type Volumes } from '../machine/volumes/state.ts'
import { item, kind, prettySize, type Item, type Kind } from './resource.ts'

/** The kernel's number of devices of LVM. */
const MAPPER_MAJOR = '253'

const volumesOf = (machine: Machine): Volumes => machine.disk.state.volumes ?? noVolumes()
/** Ids of devices and volumes (Talos: controllers/storage/lvm_scan.go). */
const idOf = (path: string): string => path.replaceAll('/', '-').replace(/^-dev-/, '')
const bytes = (extents: number): string => String(extents * EXTENT_BYTES)
const pretty = (extents: number): string => prettySize(extents * EXTENT_BYTES)

const arrays = (machine: Machine): Item[] =>
  arraySpecs(machine).map(({ name, metadata, match }) =>
    item(
      name,
      storage.MDArraySpecSpecSchema,
      { metadata: metadata === '1.2' ? Metadata.MD_METADATA12 : Metadata.MD_METADATA10 },
      { level: 'raid1', volumeSelector: match, metadata },
    ),
  )

const PHASES = {
  waiting: Phase.MD_ARRAY_PHASE_WAITING,
  rebuilding: Phase.MD_ARRAY_PHASE_REBUILDING,
  ready: Phase.MD_ARRAY_PHASE_READY,
  error: Phase.MD_ARRAY_PHASE_ERROR,
}

const arrayStatuses = (machine: Machine): Item[] =>
  arraySpecs(machine).map((spec) => {
    const { phase, error, members, array } = arrayStatus(machine, spec)
    return item(
      spec.name,
      storage.MDArrayStatusSpecSchema,
      {
        device: arrayPath(spec.name),
        members: [...members],
        ...(error !== '' && { error }),
        status: PHASES[phase],
        raidDevices: BigInt(array?.devices ?? 0),
        ...(array && {
          uuid: array.uuid,
          name: stampedName(array.name),
          metadata: array.metadata,
          arrayState: 'clean',
          syncAction: array.isRebuilding ? 'recover' : 'idle',
        }),
      },
      (yaml) => ({ level: 'raid1', ...yaml, status: phase }),
    )
  })

const groups = (machine: Machine): Item[] => {
  const { devices } = claims(machine)
  return groupSpecs(machine).map(({ name }) => {
    const physicalVolumes = (devices.get(name) ?? []).map(({ path }) => path)
    return item(name, storage.LVMVolumeGroupSpecSpecSchema, { name, physicalVolumes })
  })
}

const physical = (machine: Machine): Item[] =>
  [...claims(machine).devices].flatMap(([vgName, devices]) =>
    devices.map(({ path }) =>
      item(idOf(path), storage.LVMPhysicalVolumeSpecSpecSchema, { device: path, vgName }),
    ),
  )

const TYPES: Record<Layout, LogicalType> = {
  linear: LogicalType.LVM_LOGICAL_VOLUME_TYPE_LINEAR,
  raid0: LogicalType.LVM_LOGICAL_VOLUME_TYPE_RAID0,
  raid1: LogicalType.LVM_LOGICAL_VOLUME_TYPE_RAID1,
  raid10: LogicalType.LVM_LOGICAL_VOLUME_TYPE_RAID10,
}

const logical = (machine: Machine): Item[] =>
  logicalSpecs(machine).map((spec: LogicalSpec) =>
    item(
      idOf(`${spec.group}/${spec.name}`),
      storage.LVMLogicalVolumeSpecSpecSchema,
      {
        vgName: spec.group,
        name: spec.name,
        type: TYPES[spec.layout],
        sizeBytes: BigInt(spec.bytes),
        sizePercentVg: spec.percent,
        mirrors: spec.mirrors,
        stripes: spec.stripes,
      },
      { type: spec.layout },
    ),
  )

const problems = (machine: Machine): Item[] => [
  ...[...claims(machine).conflicts].map(([vgName, message]) =>
    item(vgName, storage.LVMValidationErrorSpecSchema, { vgName, message }),
  ),
  ...logicalSpecs(machine).flatMap((spec) => {
    const message = logicalProblem(machine, spec)
    const id = `${spec.group}/${spec.name}`
    return message === ''
      ? []
      : [item(id, storage.LVMValidationErrorSpecSchema, { vgName: spec.group, message })]
  }),
]

const groupStatuses = (machine: Machine): Item[] => {
  const volumes = volumesOf(machine)
  return volumes.groups.map((group) => {
    const own = physicalOf(volumes, group)
    const extents = extentsIn(volumes, group)
    const free = own.reduce((sum, one) => sum + freeOn(volumes, one), 0)
    return item(group.name, storage.LVMVolumeGroupStatusSpecSchema, {
      name: group.name,
      uuid: group.uuid,
      format: 'lvm2',
      permissions: 'writeable',
      extendable: 'extendable',
      partial: isPartial(machine, volumes, group) ? 'partial' : '',
      allocationPolicy: 'normal',
      size: bytes(extents),
      free: bytes(free),
      extentSize: String(EXTENT_BYTES),
      extentCount: String(extents),
      freeExtentCount: String(free),
      maxLv: '0',
      maxPv: '0',
      lvCount: String(group.logical.length),
      pvCount: String(own.length),
      snapCount: '0',
      missingPvCount: String(own.filter((one) => !isPresent(machine, one)).length),
      seqNo: String(group.seqNo),
      prettySize: pretty(extents),
      prettyFree: pretty(free),
    })
  })
}

const physicalStatuses = (machine: Machine): Item[] => {
  const volumes = volumesOf(machine)
  return volumes.physical.map((one) => {
    const isHere = isPresent(machine, one)
    const device = isHere ? one.device : '[unknown]'
    const free = freeOn(volumes, one)
    const isGrouped = one.group !== null
    // Its label, metadata and the rest below an extent belong to the device too.
    const deviceBytes = one.extents * EXTENT_BYTES + 1_048_576
    return item(idOf(device), storage.LVMPhysicalVolumeStatusSpecSchema, {
      device,
      vgName: one.group ?? '',
      uuid: one.uuid,
      format: 'lvm2',
      allocatable: isGrouped ? 'allocatable' : '',
      missing: isHere ? '' : 'missing',
      inUse: isGrouped ? 'used' : '',
      size: bytes(one.extents),
      deviceSize: String(deviceBytes),
      free: bytes(free),
      used: bytes(one.extents - free),
      peCount: String(isGrouped ? one.extents : 0),
      peAllocCount: String(one.extents - free),
      prettySize: pretty(one.extents),
      prettyDeviceSize: prettySize(deviceBytes),
      prettyFree: pretty(free),
    })
  })
}

const mapperName = (text: string): string => text.replaceAll('-', '--')

const logicalStatuses = (machine: Machine): Item[] =>
  mappedVolumes(machine).map(({ group, volume }, minor) => {
    const fullName = `${group.name}/${volume.name}`
    return item(idOf(fullName), storage.LVMLogicalVolumeStatusSpecSchema, {
      path: `/dev/${fullName}`,
      dmPath: `/dev/mapper/${mapperName(group.name)}-${mapperName(volume.name)}`,
      name: volume.name,
      fullName,
      vgName: group.name,
      uuid: volume.uuid,
      layout: volume.layout === 'linear' ? 'linear' : `raid,${volume.layout}`,
      role: 'public',
      permissions: 'writeable',
      allocationPolicy: 'inherit',
      active: 'active',
      activeLocally: 'active locally',
      activeExclusively: 'active exclusively',
      size: bytes(volume.extents),
      readAhead: 'auto',
      kernelMajor: MAPPER_MAJOR,
      kernelMinor: String(minor),
      prettySize: pretty(volume.extents),
    })
  })

export const STORAGE: Kind[] = [
  kind('MDArraySpecs.storage.talos.dev', arrays),
  kind('MDArrayStatuses.storage.talos.dev', arrayStatuses),
  kind('LVMVolumeGroupSpecs.storage.talos.dev', groups),
  kind('LVMPhysicalVolumeSpecs.storage.talos.dev', physical),
  kind('LVMLogicalVolumeSpecs.storage.talos.dev', logical),
  kind('LVMValidationErrors.storage.talos.dev', problems),
  kind('LVMVolumeGroupStatuses.storage.talos.dev', groupStatuses),
  kind('LVMPhysicalVolumeStatuses.storage.talos.dev', physicalStatuses),
  kind('LVMLogicalVolumeStatuses.storage.talos.dev', logicalStatuses),
]
