/** RAID arrays and LVM volumes as they are on a machine's disks. */
import type { Disk } from '../../fleet/hardware.ts'
import type { DiskContent } from '../../fleet/media.ts'

export interface RaidArray {
  /** The kernel's name: `md0`. */
  node: string
  /** The name in its metadata, without the host. */
  name: string
  uuid: string
  metadata: '1.0' | '1.2'
  /** Paths of its members: `/dev/nvme1n1`. */
  members: string[]
  /** Number of members that it should have. */
  devices: number
  /** New members get their data. */
  isRebuilding?: true
}

export type Layout = 'linear' | 'raid0' | 'raid1' | 'raid10'

export interface LogicalVolume {
  name: string
  uuid: string
  layout: Layout
  mirrors: number
  stripes: number
  /** Extents that its users see. */
  extents: number
  /** Extents on each physical volume, by its id. */
  on: Record<string, number>
}

export interface PhysicalVolume {
  uuid: string
  /** Path of its device: `/dev/nvme1n1`. */
  device: string
  group: string | null
  extents: number
  /** Its label was wiped; its group still knows it. */
  isLost?: true
}

export interface VolumeGroup {
  name: string
  uuid: string
  /** Number of its changes. */
  seqNo: number
  logical: LogicalVolume[]
}

export interface Volumes {
  arrays: RaidArray[]
  physical: PhysicalVolume[]
  groups: VolumeGroup[]
}

/** The part of a machine's disks that volumes depend on. */
export interface OnDisks {
  volumes?: Volumes
  contents?: Record<string, DiskContent>
}

export const noVolumes = (): Volumes => ({ arrays: [], physical: [], groups: [] })

export const pathOf = (name: string): string => `/dev/${name}`
export const nameOf = (path: string): string => path.replace(/^\/dev\//, '')

const MIB = 1_048_576
/** LVM's default size of an extent, and where the data of a physical volume begins. */
export const EXTENT_BYTES = 4 * MIB
const DATA_BEGINS = MIB
/** What mdadm keeps on a member for its superblock, its bitmap and its data's beginning. */
const MEMBER_KEEPS = { '1.0': 128 * 1024, '1.2': 128 * MIB }

export const extentsOf = (bytes: number): number =>
  Math.max(0, Math.floor((bytes - DATA_BEGINS) / EXTENT_BYTES))

/** Size of an array: that of its smallest member; 0 without members. */
export const arrayBytes = (
  { members, metadata }: RaidArray,
  disks: readonly Pick<Disk, 'name' | 'sizeBytes'>[],
): number => {
  const sizes = disks.flatMap(({ name, sizeBytes }) =>
    members.includes(pathOf(name)) ? [sizeBytes - MEMBER_KEEPS[metadata]] : [],
  )
  return sizes.length === 0 ? 0 : Math.floor(Math.min(...sizes) / 65_536) * 65_536
}

/** Whether a logical volume, which is active from its creation on, lies on this device. */
export const isInUse = ({ physical, groups }: Volumes, path: string): boolean =>
  physical.some(
    (one) =>
      one.device === path &&
      groups.some(
        ({ name, logical }) => name === one.group && logical.some(({ on }) => one.uuid in on),
      ),
  )

/** The array that has this device as a member. */
export const arrayOf = (volumes: Volumes, path: string): RaidArray | undefined =>
  volumes.arrays.find(({ members }) => members.includes(path))

/** Removes what a wiped device was to arrays and volume groups. */
export const forgetDevice = (state: OnDisks, path: string): void => {
  if (state.contents) delete state.contents[nameOf(path)]
  const { volumes } = state
  if (!volumes) return
  const array = arrayOf(volumes, path)
  if (array) {
    array.members = array.members.filter((member) => member !== path)
    if (array.members.length === 0) {
      volumes.arrays = volumes.arrays.filter((one) => one !== array)
      forgetDevice(state, pathOf(array.node))
    }
  }
  volumes.physical = volumes.physical.filter(
    ({ device, group }) => device !== path || group !== null,
  )
  for (const one of volumes.physical) if (one.device === path) one.isLost = true
  // A group whose labels are all gone is nowhere any more.
  const isKnown = (group: string | null) =>
    volumes.physical.some((one) => one.group === group && !one.isLost)
  volumes.groups = volumes.groups.filter(({ name }) => isKnown(name))
  volumes.physical = volumes.physical.filter(({ group }) => group === null || isKnown(group))
}
