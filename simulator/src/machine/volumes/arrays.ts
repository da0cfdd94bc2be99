/**
 * RAID arrays by their documents (Talos: controllers/storage/md_array_reconcile.go, internal/pkg/md).
 */
import { randomBytes } from 'node:crypto'
import type { Machine } from '../machine.ts'
import { type ArraySpec, arraySpecs, type Device, selectedDevices } from './documents.ts'
import { isInUse, nameOf, pathOf, type RaidArray, type Volumes } from './state.ts'

const LEAST_MEMBERS = 2
/** The host in the names of arrays (Talos: internal/pkg/md/array.go). */
const HOST = 'talos'

/** The path that Talos names an array by, whatever the kernel calls it. */
export const arrayPath = (name: string): string => `/dev/disk/by-id/md-name-${HOST}:${name}`
export const stampedName = (name: string): string => `${HOST}:${name}`

const uuid = (): string => Array.from({ length: 4 }, () => randomBytes(4).toString('hex')).join(':')

/** What a machine says of an array that a document asks for. */
export interface ArrayStatus {
  readonly phase: 'waiting' | 'rebuilding' | 'ready' | 'error'
  readonly error: string
  /** Paths. */
  readonly members: readonly string[]
  readonly array: RaidArray | null
}

/** The members that the machine still has. */
export const presentMembers = (machine: Machine, { members }: RaidArray): string[] =>
  members.filter((path) => machine.hardware.disks.some(({ name }) => pathOf(name) === path))

/** An array isn't a member of itself. */
const membersFor = (machine: Machine, { match }: ArraySpec): Device[] =>
  selectedDevices(machine, match).filter(({ array }) => array === undefined)

const existingFor = (machine: Machine, devices: readonly Device[]): RaidArray | undefined => {
  const arrays = machine.disk.state.volumes?.arrays ?? []
  return devices
    .map(({ path }) => arrays.find((array) => presentMembers(machine, array).includes(path)))
    .find((array) => array !== undefined)
}

/** A device that another array or an active volume holds, which mdadm can't open. */
const busyOf = (volumes: Volumes | undefined, devices: readonly Device[]): Device | undefined =>
  devices.find(
    ({ path, holds }) => holds === 'raid' || (volumes !== undefined && isInUse(volumes, path)),
  )

export const arrayStatus = (machine: Machine, spec: ArraySpec): ArrayStatus => {
  const devices = membersFor(machine, spec)
  const paths = devices.map(({ path }) => path)
  if (paths.length < LEAST_MEMBERS)
    return {
      phase: 'waiting',
      error: `waiting for enough member disks: matched ${paths.length}, required ${LEAST_MEMBERS}`,
      members: paths,
      array: null,
    }
  const array = existingFor(machine, devices)
  if (!array) {
    const busy = busyOf(machine.disk.state.volumes, devices)
    return {
      phase: 'error',
      error: busy
        ? `create: md: resource in use: mdadm: super1.x cannot open ${busy.path}: Device or resource busy`
        : '',
      members: paths,
      array: null,
    }
  }
  const members = presentMembers(machine, array)
  const isWaiting = array.isRebuilding === true && paths.some((path) => !members.includes(path))
  return {
    phase: array.isRebuilding ? 'rebuilding' : 'ready',
    error: isWaiting
      ? 'waiting for MD array sync to finish: md: resync or recovery in progress'
      : '',
    members,
    array,
  }
}

const say = (machine: Machine, message: string, fields: object): void =>
  machine.journal.kernel(
    `[talos] ${message} ${JSON.stringify({ component: 'controller-runtime', controller: 'storage.MDArrayReconcileController', ...fields })}`,
  )

/** Creates and extends arrays. What documents don't name is left as it is. */
export const settleArrays = (machine: Machine): void => {
  for (const spec of arraySpecs(machine)) {
    const devices = membersFor(machine, spec)
    if (devices.length < LEAST_MEMBERS) continue
    const array = existingFor(machine, devices)
    if (array) extend(machine, spec, array, devices)
    else if (!busyOf(machine.disk.state.volumes, devices)) create(machine, spec, devices)
  }
}

const holdRaid = (machine: Machine, paths: readonly string[]): void =>
  machine.disk.change((state) => {
    state.contents ??= {}
    for (const path of paths) state.contents[nameOf(path)] = 'raid'
    const { volumes } = state
    if (!volumes) return
    // mdadm writes over the label of a physical volume that is not in use.
    volumes.physical = volumes.physical.filter(
      ({ device, group }) => !paths.includes(device) || group !== null,
    )
    for (const one of volumes.physical) if (paths.includes(one.device)) one.isLost = true
  })

const create = (machine: Machine, spec: ArraySpec, devices: readonly Device[]): void => {
  const members = devices.map(({ path }) => path)
  say(machine, 'creating MD array', { array: spec.name, members })
  holdRaid(machine, members)
  machine.disk.change((state) => {
    const volumes = (state.volumes ??= { arrays: [], physical: [], groups: [] })
    const taken = new Set(volumes.arrays.map(({ node }) => node))
    const free = Array.from({ length: 128 }, (_, i) => `md${i}`).find((node) => !taken.has(node))!
    volumes.arrays.push({
      node: free,
      name: spec.name,
      uuid: uuid(),
      metadata: spec.metadata,
      members,
      devices: members.length,
    })
  })
}

const extend = (
  machine: Machine,
  spec: ArraySpec,
  array: RaidArray,
  devices: readonly Device[],
): void => {
  const present = presentMembers(machine, array)
  const added = devices.filter(({ path }) => !present.includes(path))
  if (added.length === 0 || array.isRebuilding) return
  // A member of another array is held by it.
  if (busyOf(machine.disk.state.volumes, added)) return
  const paths = added.map(({ path }) => path)
  const count = present.length + paths.length
  say(machine, 'extending MD array', { array: spec.name, members: paths, raid_devices: count })
  holdRaid(machine, paths)
  machine.disk.change(() => {
    array.members = [...present, ...paths]
    array.devices = Math.max(array.devices, count)
    array.isRebuilding = true
  })
}
