import type { Disk } from '../../fleet/hardware.ts'
import { evaluate, type Facts, type Variables } from './evaluate.ts'
import { parse, type Tree } from './syntax.ts'
import { conditionProblem, type Scope, zeroFields } from './types.ts'

/**
 * The part of the Common Expression Language with which documents select disks, volumes and links:
 * its syntax, its types, and its evaluation on disks (Talos: pkg/machinery/cel/celenv).
 */

/** Why an expression can't select in this scope on a minor of Talos (13 is 1.13), or null. */
export const celProblem = (source: string, scope: Scope, minor: number): string | null => {
  try {
    return conditionProblem(parse(source), scope, minor)
  } catch (cause) {
    return cause instanceof Error ? cause.message : String(cause)
  }
}

/** The disks that an expression selects, in their order. */
export const matchingDisks = (source: string, disks: readonly Disk[]): Disk[] => {
  const tree = parse(source)
  return disks.filter((disk) => isTrue(tree, { disk: factsOf(disk), system_disk: false }))
}

/**
 * Whether an expression selects a whole disk, or a device that isn't hardware, of which only its
 * name and size are known, as a member.
 */
export const matcherOf = (
  source: string,
): ((device: Disk | Pick<Disk, 'name' | 'sizeBytes'>, volume: { name: string }) => boolean) => {
  const tree = parse(source)
  return (device, volume) => {
    const size = BigInt(device.sizeBytes)
    const path = `/dev/${device.name}`
    return isTrue(tree, {
      disk: 'wwid' in device ? factsOf(device) : { ...NO_DISK, size, dev_path: path },
      volume: { ...NO_VOLUME, size, name: volume.name, type: 'disk', dev_path: path },
      volume_id: '',
      system_disk: false,
    })
  }
}

const NO_DISK: Facts = zeroFields('Disk')
const NO_VOLUME: Facts = zeroFields('Volume')

/** Talos passes over a disk on which the expression fails. */
const isTrue = (tree: Tree, variables: Variables): boolean => {
  try {
    return evaluate(tree, variables) === true
  } catch {
    return false
  }
}

const factsOf = (disk: Disk): Facts => ({
  ...NO_DISK,
  size: BigInt(disk.sizeBytes),
  sector_size: 512n,
  io_size: 512n,
  readonly: disk.readonly,
  model: disk.model,
  serial: disk.serial,
  wwid: disk.wwid,
  bus_path: disk.busPath,
  transport: disk.transport,
  rotational: disk.rotational,
  dev_path: `/dev/${disk.name}`,
  symlinks: disk.wwid === '' ? [] : [`/dev/disk/by-id/wwn-0x${disk.wwid.split('.')[1] ?? ''}`],
})
