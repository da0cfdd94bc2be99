/** Makes a machine's disks have the arrays and volumes of its documents, and removes them. */
import { hasFeature } from '../../config/versions.ts'
import { TAKES } from '../durations.ts'
import type { Machine } from '../machine.ts'
import { arrayPath, settleArrays } from './arrays.ts'
import { settleGroups } from './groups.ts'
import { arrayOf, forgetDevice, isInUse, nameOf, pathOf, type RaidArray } from './state.ts'

/**
 * Creates what the active configuration asks for. Talos removes nothing whose document is gone, and
 * creates again what a call has removed as long as its document is there. Before Talos is installed
 * nothing is created: real Talos doesn't wait, and may take the disk that it is installed to.
 */
export const settleVolumes = (machine: Machine): void => {
  if (!hasFeature(machine.talosMinor, 'volumeServices') || machine.systemDisk === null) return
  settleArrays(machine)
  settleGroups(machine)
  machine.journal.changed()
}

/** Gives new members of arrays their data, one array after another. */
export const rebuildArrays = async (machine: Machine, signal: AbortSignal): Promise<void> => {
  const next = () => machine.disk.state.volumes?.arrays.find((array) => array.isRebuilding)
  for (;;) {
    await machine.until(() => next() !== undefined, signal)
    const array = next()!
    await machine.takes(TAKES.rebuildArray, signal)
    machine.disk.change(() => delete array.isRebuilding)
    settleVolumes(machine)
  }
}

/** An error of the programs of LVM and RAID, as Talos sorts them. */
export type Refusal =
  | 'not-found'
  | 'in-use'
  | 'is-partitioned'
  /** Any other. */
  | 'failed'

const done = (machine: Machine): null => {
  settleVolumes(machine)
  machine.journal.changed()
  return null
}

export const removeLogicalVolume = (
  machine: Machine,
  groupName: string,
  name: string,
): Refusal | null => {
  const group = machine.disk.state.volumes?.groups.find((one) => one.name === groupName)
  if (!group?.logical.some((one) => one.name === name)) return 'not-found'
  machine.disk.change(() => {
    group.logical = group.logical.filter((one) => one.name !== name)
    group.seqNo++
  })
  return done(machine)
}

/** Removes a group with its logical volumes, as `vgremove --yes` does. */
export const removeVolumeGroup = (machine: Machine, name: string): Refusal | null => {
  const { volumes } = machine.disk.state
  if (!volumes?.groups.some((one) => one.name === name)) return 'not-found'
  machine.disk.change(() => {
    volumes.groups = volumes.groups.filter((one) => one.name !== name)
    volumes.physical = volumes.physical.filter((one) => one.group !== name || !one.isLost)
    for (const one of volumes.physical) if (one.group === name) one.group = null
  })
  return done(machine)
}

export const removePhysicalVolume = (machine: Machine, device: string): Refusal | null => {
  const { volumes, contents } = machine.disk.state
  const disk = machine.hardware.disks.find(({ name }) => pathOf(name) === device)
  const array = volumes?.arrays.find(({ node }) => pathOf(node) === device)
  if (!disk && !array) return 'not-found'
  if (disk && disk.name === machine.systemDisk) return 'is-partitioned'
  const physical = volumes?.physical.find((one) => one.device === device && !one.isLost)
  if (physical && physical.group !== null) return 'in-use'
  // "No PV found on device", for which Talos has no kind of error.
  if (!physical && contents?.[nameOf(device)] !== 'lvm') return 'failed'
  machine.disk.change((state) => forgetDevice(state, device))
  return done(machine)
}

const pathsOf = ({ node, name, uuid }: RaidArray): string[] => [
  pathOf(node),
  arrayPath(name),
  `/dev/disk/by-id/md-uuid-${uuid}`,
]

/** Stops an array and wipes its members. */
export const destroyArray = (machine: Machine, device: string): Refusal | null => {
  const { volumes } = machine.disk.state
  const array = volumes?.arrays.find((one) => pathsOf(one).includes(device))
  if (!volumes || !array) return 'not-found'
  if (isInUse(volumes, pathOf(array.node))) return 'in-use'
  machine.disk.change((state) => {
    for (const member of array.members) forgetDevice(state, member)
  })
  return done(machine)
}

/** The disk that the kernel built on this one, which so can't be wiped: `md0`. Null without one. */
export const builtOn = (machine: Machine, name: string): string | null => {
  const { volumes } = machine.disk.state
  if (!volumes) return null
  const array = arrayOf(volumes, pathOf(name))
  if (array) return array.node
  const at = mappedVolumes(machine).findIndex(({ disks }) => disks.includes(name))
  return at < 0 ? null : `dm-${at}`
}

/** The logical volumes in the order of the kernel's numbers, with the devices they lie on. */
export const mappedVolumes = (machine: Machine) => {
  const { groups = [], physical = [] } = machine.disk.state.volumes ?? {}
  return groups.flatMap((group) =>
    group.logical.map((volume) => ({
      group,
      volume,
      disks: physical.filter(({ uuid }) => uuid in volume.on).map(({ device }) => nameOf(device)),
    })),
  )
}
