/** RAID arrays and LVM volumes as Talos lists them: disks that consist of others. */
import {
  DiscoveredVolumeSpecSchema,
  DiskSpecSchema,
} from '#talos/proto/gen/definitions/block_pb.ts'
import type { Machine } from '../machine/machine.ts'
import { arrayPath, presentMembers, stampedName } from '../machine/volumes/arrays.ts'
import { mappedVolumes } from '../machine/volumes/settle.ts'
import {
  arrayBytes,
  arrayOf,
  EXTENT_BYTES,
  nameOf,
  noVolumes,
  pathOf,
} from '../machine/volumes/state.ts'
import { item, prettySize, snakeCased, type Item } from './resource.ts'

interface Stack {
  readonly name: string
  readonly bytes: number
  /** Names of the disks that it consists of. */
  readonly on: string[]
  readonly links: string[]
}

const stacksOf = (machine: Machine): Stack[] => [
  ...(machine.disk.state.volumes?.arrays ?? []).map((array) => ({
    name: array.node,
    bytes: arrayBytes(array, machine.hardware.disks),
    on: presentMembers(machine, array).map(nameOf),
    links: [arrayPath(array.name), `/dev/disk/by-id/md-uuid-${array.uuid}`],
  })),
  ...mappedVolumes(machine).map(({ group, volume, disks }, minor) => ({
    name: `dm-${minor}`,
    bytes: volume.extents * EXTENT_BYTES,
    on: disks,
    links: [`/dev/${group.name}/${volume.name}`],
  })),
]

export const stackedDisks = (machine: Machine): Item[] =>
  stacksOf(machine).map(({ name, bytes, on, links }) => {
    const spec = {
      size: BigInt(bytes),
      ioSize: 512n,
      sectorSize: 512n,
      subSystem: '/sys/class/block',
      transport: '',
      devPath: `/dev/${name}`,
      prettySize: prettySize(bytes),
      secondaryDisks: on,
      symlinks: links,
    }
    return item(name, DiskSpecSchema, spec, snakeCased)
  })

/** What Talos finds on arrays and volumes. */
export const stackedVolumes = (machine: Machine): Item[] =>
  stacksOf(machine).map(({ name, bytes }) => {
    const isLabelled = machine.disk.state.volumes?.physical.some(
      ({ device, isLost }) => device === pathOf(name) && !isLost,
    )
    const spec = {
      size: BigInt(bytes),
      sectorSize: 512n,
      ioSize: 512n,
      name: isLabelled ? 'lvm2-pv' : '',
      type: 'disk',
      devPath: `/dev/${name}`,
      prettySize: prettySize(bytes),
    }
    return item(name, DiscoveredVolumeSpecSchema, spec, snakeCased)
  })

/** The label of a disk: a member of an array has the array's name. */
export const labelOf = (machine: Machine, disk: string, label: string): string => {
  const array = arrayOf(machine.disk.state.volumes ?? noVolumes(), pathOf(disk))
  return array ? stampedName(array.name) : label
}
