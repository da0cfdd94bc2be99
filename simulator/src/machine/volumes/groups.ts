/**
 * LVM's volume groups and logical volumes by their documents (Talos:
 * controllers/storage/lvm_volume_group_reconcile.go, lvm_logical_volume_reconcile.go).
 */
import { randomBytes } from 'node:crypto'
import type { Machine } from '../machine.ts'
import { claims, type Device, type LogicalSpec, logicalSpecs } from './documents.ts'
import {
  arrayOf,
  EXTENT_BYTES,
  extentsOf,
  type LogicalVolume,
  nameOf,
  pathOf,
  type PhysicalVolume,
  type VolumeGroup,
  type Volumes,
} from './state.ts'

const TOO_FEW = 'volume group has too few physical volumes for the requested layout'
/** A difference in size up to this isn't one. */
const SLACK_PERCENT = 1

const LETTERS = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789'
/** An id in LVM's form, 32 characters in groups. */
const uuid = (): string =>
  [6, 4, 4, 4, 4, 4, 6]
    .map((length) => [...randomBytes(length)].map((byte) => LETTERS[byte % 62]).join(''))
    .join('-')

/** Whether the machine has the device of a physical volume, with its label. */
export const isPresent = (machine: Machine, { device, isLost }: PhysicalVolume): boolean =>
  !isLost &&
  (machine.hardware.disks.some(({ name }) => pathOf(name) === device) ||
    (machine.disk.state.volumes?.arrays ?? []).some(({ node }) => pathOf(node) === device))

export const physicalOf = ({ physical }: Volumes, { name }: VolumeGroup): PhysicalVolume[] =>
  physical.filter(({ group }) => group === name)

const usedOn = ({ logical }: VolumeGroup, { uuid: id }: PhysicalVolume): number =>
  logical.reduce((sum, { on }) => sum + (on[id] ?? 0), 0)

/** Extents of a physical volume that no logical volume uses. */
export const freeOn = (volumes: Volumes, physical: PhysicalVolume): number => {
  const group = volumes.groups.find(({ name }) => name === physical.group)
  return physical.extents - (group ? usedOn(group, physical) : 0)
}

export const extentsIn = (volumes: Volumes, group: VolumeGroup): number =>
  physicalOf(volumes, group).reduce((sum, { extents }) => sum + extents, 0)

type Fields = Readonly<Record<string, unknown>>
const logger =
  (machine: Machine, of: 'VolumeGroup' | 'LogicalVolume') =>
  (message: string, fields: Fields): void =>
    machine.journal.kernel(
      `[talos] ${message} ${JSON.stringify({ component: 'controller-runtime', controller: `storage.LVM${of}ReconcileController`, ...fields })}`,
    )

/** Creates and extends groups and volumes. What documents don't name is left as it is. */
export const settleGroups = (machine: Machine): void => {
  findLabels(machine)
  for (const [name, devices] of claims(machine).devices)
    if (devices.length > 0) settleGroup(machine, name, devices)
  for (const spec of logicalSpecs(machine)) settleLogical(machine, spec)
}

/** Physical volumes that were on the disks before, of no group. */
const findLabels = (machine: Machine): void => {
  const { contents = {}, volumes } = machine.disk.state
  const found = machine.hardware.disks.filter(
    ({ name }) =>
      contents[name] === 'lvm' &&
      !volumes?.physical.some(({ device, isLost }) => device === pathOf(name) && !isLost),
  )
  if (found.length === 0) return
  machine.disk.change((state) => {
    const { physical } = (state.volumes ??= { arrays: [], physical: [], groups: [] })
    for (const { name, sizeBytes } of found)
      physical.push({
        uuid: uuid(),
        device: pathOf(name),
        group: null,
        extents: extentsOf(sizeBytes),
      })
  })
}

const settleGroup = (machine: Machine, name: string, devices: readonly Device[]): void => {
  const say = logger(machine, 'VolumeGroup')
  const fail = (error: string): void =>
    say('LVM reconcile encountered errors', {
      error: `1 error occurred:\n\t* reconcile VG ${JSON.stringify(name)}: ${error}\n\n`,
    })
  const labels = new Map<string, PhysicalVolume>()
  for (const { path, bytes, holds } of devices) {
    const known = machine.disk.state.volumes?.physical.find(
      ({ device, isLost }) => device === path && !isLost,
    )
    if (known) {
      labels.set(path, known)
      continue
    }
    say('creating LVM physical volume', { device: path, vg: name })
    const isMember = arrayOf(machine.disk.state.volumes ?? emptyVolumes, path) !== undefined
    // `pvcreate` asks before it wipes a signature, and nobody answers.
    if (holds !== undefined || isMember)
      return fail(
        `pvcreate ${JSON.stringify(path)}: ${holds === 'table' ? 'lvm: device is partitioned' : 'lvm: command failed'}`,
      )
    machine.disk.change((state) => {
      const { physical } = (state.volumes ??= { arrays: [], physical: [], groups: [] })
      const made = { uuid: uuid(), device: path, group: null, extents: extentsOf(bytes) }
      physical.push(made)
      labels.set(path, made)
      if (machine.hardware.disks.some((disk) => pathOf(disk.name) === path))
        (state.contents ??= {})[nameOf(path)] = 'lvm'
    })
  }
  const volumes = machine.disk.state.volumes!
  const group = volumes.groups.find((one) => one.name === name)
  const joining = [...labels.values()].filter((one) => one.group !== name)
  if (joining.length === 0) return
  say(group ? 'extending LVM volume group' : 'creating LVM volume group', {
    vg: name,
    devices: joining.map(({ device }) => device),
  })
  // LVM refuses all of them if one is in another group, which Talos takes as done.
  if (joining.some((one) => one.group !== null)) return
  if (group && isPartial(machine, volumes, group))
    return fail(`vgextend ${JSON.stringify(name)}: lvm: command failed`)
  machine.disk.change(() => {
    for (const one of joining) one.group = name
    if (group) group.seqNo++
    else volumes.groups.push({ name, uuid: uuid(), seqNo: 1, logical: [] })
  })
}

const emptyVolumes: Volumes = { arrays: [], physical: [], groups: [] }

/** Whether a device of the group is missing. LVM changes no such group. */
export const isPartial = (machine: Machine, volumes: Volumes, group: VolumeGroup): boolean =>
  physicalOf(volumes, group).some((one) => !isPresent(machine, one))

/** Mirrors and stripes of a volume. Null if the group has too few physical volumes for them. */
const partsOf = (spec: LogicalSpec, count: number): { mirrors: number; stripes: number } | null => {
  if (spec.layout === 'linear') return { mirrors: 0, stripes: 0 }
  const mirrors = spec.layout === 'raid0' ? 0 : spec.mirrors || 1
  if (spec.layout === 'raid1') return count > mirrors ? { mirrors, stripes: 0 } : null
  const stripes = spec.stripes || Math.floor(count / (mirrors + 1))
  return stripes >= 2 && count >= stripes * (mirrors + 1) ? { mirrors, stripes } : null
}

interface Wanted {
  readonly extents: number
  /** Whether it is a percentage, of which LVM takes less if copies need the rest for themselves. */
  readonly isRelative: boolean
}

/** The size that a document asks for. A percentage of a mirror counts its copies. */
const wanted = (spec: LogicalSpec, volumes: Volumes, group: VolumeGroup): Wanted => {
  const isRelative = spec.percent > 0
  if (!isRelative) return { extents: Math.ceil(spec.bytes / EXTENT_BYTES), isRelative }
  const copies = spec.layout === 'raid1' || spec.layout === 'raid10' ? (spec.mirrors || 1) + 1 : 1
  const whole = extentsIn(volumes, group)
  return { extents: Math.floor((whole * spec.percent) / 100 / copies), isRelative }
}

/** Why Talos doesn't make a volume as its document says; '' if nothing is wrong. */
export const logicalProblem = (machine: Machine, spec: LogicalSpec): string => {
  const volumes = machine.disk.state.volumes ?? emptyVolumes
  const group = volumes.groups.find(({ name }) => name === spec.group)
  if (!group) return ''
  const made = group.logical.find(({ name }) => name === spec.name)
  if (!made) return partsOf(spec, physicalOf(volumes, group).length) ? '' : TOO_FEW
  const [target, observed] = sizes(spec, volumes, group, made)
  return target * 100 < observed * (100 - SLACK_PERCENT)
    ? `requested size ${target} bytes is smaller than current size ${observed} bytes; shrinking logical volumes is not supported`
    : ''
}

/** Bytes as Talos compares them: it halves a percentage for raid1 only. */
const sizes = (
  spec: LogicalSpec,
  volumes: Volumes,
  group: VolumeGroup,
  made: LogicalVolume,
): [target: number, observed: number] => {
  const ofGroup = Math.floor((extentsIn(volumes, group) * EXTENT_BYTES * spec.percent) / 100)
  const relative = spec.layout === 'raid1' ? Math.floor(ofGroup / 2) : ofGroup
  return [spec.percent > 0 ? relative : spec.bytes, made.extents * EXTENT_BYTES]
}

const settleLogical = (machine: Machine, spec: LogicalSpec): void => {
  const { volumes } = machine.disk.state
  const group = volumes?.groups.find(({ name }) => name === spec.group)
  if (!volumes || !group) return
  const say = logger(machine, 'LogicalVolume')
  const named = { vg: spec.group, lv: spec.name }
  const fail = (action: string): void =>
    say('LVM logical volume reconcile encountered errors', {
      error: `1 error occurred:\n\t* reconcile LV ${JSON.stringify(spec.group)}/${JSON.stringify(spec.name)}: ${action}: lvm: command failed\n\n`,
    })
  const made = group.logical.find(({ name }) => name === spec.name)
  if (made) {
    const [target, observed] = sizes(spec, volumes, group, made)
    if (target * 100 <= observed * (100 + SLACK_PERCENT)) return
    say('growing LVM logical volume', { ...named, from_bytes: observed, target_bytes: target })
    const added = allocate(machine, volumes, group, made, wanted(spec, volumes, group))
    // LVM refuses a size that a volume has already, so percentages of raid10 fail at each look.
    if (!added || added.extents === made.extents) return fail('lvextend')
    return machine.disk.change(() => {
      Object.assign(made, added)
      group.seqNo++
    })
  }
  const parts = partsOf(spec, physicalOf(volumes, group).length)
  if (!parts)
    return say('skipping logical volume: too few physical volumes for the requested layout', {
      ...named,
      type: spec.layout,
      pv_count: physicalOf(volumes, group).length,
    })
  say('creating LVM logical volume', { ...named, type: spec.layout, ...parts })
  const empty = { name: spec.name, uuid: uuid(), layout: spec.layout, ...parts, extents: 0, on: {} }
  const placed = allocate(machine, volumes, group, empty, wanted(spec, volumes, group))
  if (!placed) return fail('lvcreate')
  return machine.disk.change(() => {
    group.logical.push({ ...empty, ...placed })
    group.seqNo++
  })
}

/** Where a volume of this size lies. Null without enough free space. */
const allocate = (
  machine: Machine,
  volumes: Volumes,
  group: VolumeGroup,
  volume: LogicalVolume,
  { extents, isRelative }: Wanted,
): Pick<LogicalVolume, 'extents' | 'on'> | null => {
  if (isPartial(machine, volumes, group)) return null
  const physical = physicalOf(volumes, group)
  const room = (one: PhysicalVolume) => freeOn(volumes, one) + (volume.on[one.uuid] ?? 0)
  if (volume.layout === 'linear') {
    const on: Record<string, number> = { ...volume.on }
    let left = extents - volume.extents
    for (const one of physical) {
      const taken = Math.min(left, freeOn(volumes, one))
      if (taken > 0) on[one.uuid] = (on[one.uuid] ?? 0) + taken
      left -= taken
    }
    return left > 0 ? null : { extents, on }
  }
  const stripes = volume.stripes || 1
  const images = stripes * (volume.mirrors + 1)
  // An image of a mirror has an extent of its own for its state.
  const own = volume.mirrors > 0 ? 1 : 0
  const chosen =
    volume.extents > 0
      ? physical.filter(({ uuid: id }) => id in volume.on)
      : physical.toSorted((a, b) => room(b) - room(a)).slice(0, images)
  const most = Math.min(...chosen.map(room)) - own
  const asked = Math.ceil(extents / stripes)
  const each = isRelative && asked > most && asked - most <= own ? most : asked
  return chosen.length < images || each > most
    ? null
    : {
        extents: each * stripes,
        on: Object.fromEntries(chosen.map(({ uuid: id }) => [id, each + own])),
      }
}
