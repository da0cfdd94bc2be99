import { isObject } from './shape.ts'

type Path = readonly (string | number)[]

/** Lists and maps of the main document whose entries are pointers in Talos, `#` for an index. */
const LISTS = new Set([
  'machine.acceptedCAs',
  'machine.disks',
  'machine.disks.#.partitions',
  'machine.files',
  'machine.seccompProfiles',
  'machine.kernel.modules',
  'machine.systemDiskEncryption.state.keys',
  'machine.systemDiskEncryption.ephemeral.keys',
  'machine.network.extraHostEntries',
  'machine.network.interfaces',
  'machine.network.interfaces.#.routes',
  'machine.network.interfaces.#.vlans',
  'machine.network.interfaces.#.vlans.#.routes',
  'machine.network.interfaces.#.wireguard.peers',
  'machine.registries.mirrors',
  'machine.registries.config',
  'cluster.acceptedCAs',
  'cluster.apiServer.admissionControl',
  'cluster.apiServer.authorizationConfig',
])

const nameOf = (path: Path): string =>
  path.map((key) => (typeof key === 'number' ? '#' : key)).join('.')

/**
 * Paths of entries without a value in such a list or map, which Talos 1.14 refuses when it loads a
 * configuration (siderolabs/gen: xyaml.CheckNullElements).
 */
export const nullEntries = (value: unknown, path: Path = []): Path[] => {
  const entries: [string | number, unknown][] = Array.isArray(value)
    ? [...value.entries()]
    : isObject(value)
      ? Object.entries(value)
      : []
  return entries.flatMap(([key, child]) =>
    child === null && LISTS.has(nameOf(path))
      ? [[...path, key]]
      : nullEntries(child, [...path, key]),
  )
}

/** A path as Talos writes it: `machine.disks[0]`. */
export const pathText = (path: Path): string =>
  path.reduce<string>(
    (text, key) =>
      typeof key === 'number' ? `${text}[${key}]` : text === '' ? key : `${text}.${key}`,
    '',
  )
