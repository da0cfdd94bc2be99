/** The documents of RAID arrays and LVM volumes, and the devices that their expressions select. */
import { matcherOf } from '../../config/cel/cel.ts'
import { object, text } from '../../config/shape.ts'
import { hasFeature } from '../../config/versions.ts'
import type { Disk } from '../../fleet/hardware.ts'
import type { DiskContent } from '../../fleet/media.ts'
import type { Machine } from '../machine.ts'
import {
  arrayBytes,
  type Layout,
  nameOf,
  noVolumes,
  pathOf,
  type RaidArray,
  type Volumes,
} from './state.ts'

export interface ArraySpec {
  readonly name: string
  readonly metadata: '1.0' | '1.2'
  readonly match: string
}
export interface GroupSpec {
  readonly name: string
  readonly match: string
}
export interface LogicalSpec {
  readonly name: string
  readonly group: string
  readonly layout: Layout
  readonly mirrors: number
  /** 0: as many as there are physical volumes. */
  readonly stripes: number
  /** Bytes, or percents of the group; the other is 0. */
  readonly bytes: number
  readonly percent: number
}

const UNITS = ['', 'K', 'M', 'G', 'T', 'P', 'E']

/** The bytes of `10GiB`, `10GB` or `10G` (Talos: humanize.ParseBytes). */
const bytesOf = (size: string): number => {
  const [, amount = '0', unit = '', binary] =
    /^([\d.]+) ?([KMGTPE]?)(i)?B?$/i.exec(size.trim()) ?? []
  return Math.floor(
    Number(amount) * (binary ? 1024 : 1000) ** Math.max(0, UNITS.indexOf(unit.toUpperCase())),
  )
}

const documentsOf = (machine: Machine, kind: string) =>
  hasFeature(machine.talosMinor, 'volumeServices')
    ? (machine.config?.loaded.documents ?? []).filter((document) => document.kind === kind)
    : []

const matchOf = (body: Record<string, unknown>): string =>
  text(object(object(body.provisioning).volumeSelector).match)

export const arraySpecs = (machine: Machine): ArraySpec[] =>
  documentsOf(machine, 'RAIDArrayConfig').map(({ name, body }) => ({
    name,
    metadata: text(body.metadata) === '1.2' ? '1.2' : '1.0',
    match: matchOf(body),
  }))

export const groupSpecs = (machine: Machine): GroupSpec[] =>
  documentsOf(machine, 'LVMVolumeGroupConfig').map(({ name, body }) => ({
    name,
    match: matchOf(body),
  }))

export const logicalSpecs = (machine: Machine): LogicalSpec[] =>
  documentsOf(machine, 'LVMLogicalVolumeConfig').map(({ name, body }) => {
    const { volumeGroup, maxSize } = object(body.provisioning)
    const layout = (text(body.type) || 'linear') as Layout
    const size = text(maxSize)
    const isRelative = size.endsWith('%')
    return {
      name,
      group: text(volumeGroup),
      layout,
      mirrors: Number(body.mirrors ?? (layout === 'raid1' || layout === 'raid10' ? 1 : 0)),
      stripes: Number(body.stripes ?? 0),
      bytes: isRelative ? 0 : bytesOf(size),
      percent: isRelative ? Math.floor(Number(size.slice(0, -1))) : 0,
    }
  })

/** A device that may be a member of an array or a physical volume. */
export interface Device {
  readonly path: string
  readonly bytes: number
  readonly holds: DiskContent | undefined
  /** The array that this device is. */
  readonly array?: RaidArray
}

/** Contents with partitions, which make the whole disk unusable, and encrypted ones. */
const WITHHELD: ReadonlySet<DiskContent | undefined> = new Set([
  'system',
  'talos',
  'zfs',
  'luks',
  'unreadable',
])

/** Names of contents as Talos discovers them (go-blockdevice `blkid`). */
const DISCOVERED: Partial<Record<DiskContent, string>> = {
  ext4: 'extfs',
  raid: 'linux_raid_member',
  lvm: 'lvm2-pv',
  ceph: 'bluestore',
  table: 'gpt',
}

/**
 * The whole disks and the arrays that an expression selects, by their path (Talos:
 * config/types/block/blockhelpers). Partitions aren't offered, because the simulated machine makes
 * none besides those of Talos.
 */
export const selectedDevices = (machine: Machine, match: string): Device[] => {
  if (match === '') return []
  const matches = matcherOf(match)
  const volumes: Volumes = machine.disk.state.volumes ?? noVolumes()
  const { disks } = machine.hardware
  const candidates = [
    ...disks
      .filter(({ name }) => name !== machine.systemDisk)
      .map((disk): { device: Device; disk: Disk | null } => ({
        device: {
          path: pathOf(disk.name),
          bytes: disk.sizeBytes,
          holds: machine.disk.state.contents?.[disk.name],
        },
        disk,
      }))
      .filter(({ device }) => !WITHHELD.has(device.holds)),
    ...volumes.arrays.map((array): { device: Device; disk: Disk | null } => {
      const path = pathOf(array.node)
      const isVolume = volumes.physical.some(({ device, isLost }) => device === path && !isLost)
      return {
        device: {
          path,
          bytes: arrayBytes(array, disks),
          holds: isVolume ? 'lvm' : undefined,
          array,
        },
        disk: null,
      }
    }),
  ]
  return candidates
    .filter(({ device, disk }) =>
      matches(disk ?? { name: nameOf(device.path), sizeBytes: device.bytes }, {
        name: DISCOVERED[device.holds ?? 'unreadable'] ?? device.holds ?? '',
      }),
    )
    .map(({ device }) => device)
    .toSorted((a, b) => (a.path < b.path ? -1 : 1))
}

/** Devices by the group that may have them, and groups that select a device of another one. */
export const claims = (
  machine: Machine,
): { devices: Map<string, Device[]>; conflicts: Map<string, string> } => {
  const devices = new Map<string, Device[]>()
  const conflicts = new Map<string, string>()
  const claimed = new Map<string, string>()
  for (const { name, match } of groupSpecs(machine)) {
    const own: Device[] = []
    for (const device of selectedDevices(machine, match)) {
      const other = claimed.get(device.path)
      if (other !== undefined && other !== name) {
        conflicts.set(name, `device "${device.path}" already claimed by volume group "${other}"`)
        continue
      }
      claimed.set(device.path, name)
      own.push(device)
    }
    devices.set(name, own)
  }
  return { devices, conflicts }
}
