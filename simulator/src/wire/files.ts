import type { Machine } from '../machine/machine.ts'

/** All files of a simulated machine, with their content. */
const textsOf = (machine: Machine): Map<string, string> =>
  new Map([
    [
      '/etc/os-release',
      `NAME="Talos"\nID=talos\nVERSION_ID=${machine.talosVersion}\nPRETTY_NAME="Talos (${machine.talosVersion}), simulated"\n`,
    ],
    ['/proc/sys/kernel/random/boot_id', `${machine.bootId}\n`],
    ['/proc/version', 'Linux version 6.18.5-talos (simulated)\n'],
  ])

const FOLDERS = ['/dev', '/run', '/sys', '/system/state', '/tmp', '/usr', '/var/lib', '/var/log']

export interface Entry {
  path: string
  /** Size of a file in bytes; null for a folder. */
  size: number | null
}

export const textOf = (machine: Machine, path: string): string | undefined =>
  textsOf(machine).get(path)

/** Files and folders sorted by path, each folder before its content. */
const tree = (machine: Machine): Entry[] => {
  const entries = new Map<string, number | null>([['/', null]])
  const folder = (path: string): void => {
    for (let at = path.indexOf('/', 1); at !== -1; at = path.indexOf('/', at + 1))
      entries.set(path.slice(0, at), null)
  }
  // etcd's folder is a volume of a control plane (Talos: services/etcd.go, IsDirEmpty).
  const etcd = machine.config?.node?.role === 'controlplane' && machine.hasEphemeral
  const data = machine.disk.state.etcd ? '/var/lib/etcd/member/' : '/var/lib/etcd/'
  for (const path of FOLDERS) folder(`${path}/`)
  if (etcd) folder(data)
  for (const [path, text] of textsOf(machine)) {
    folder(path)
    entries.set(path, Buffer.byteLength(text))
  }
  return [...entries]
    .map(([path, size]) => ({ path, size }))
    .toSorted((a, b) => (a.path < b.path ? -1 : 1))
}

/**
 * Entries at and below `root` with their depth, at most `depth` levels. Empty if `root` doesn't
 * exist.
 */
export const below = (
  machine: Machine,
  root: string,
  depth: number,
): (Entry & { relative: string; depth: number })[] => {
  const base = `/${root
    .split('/')
    .filter((part) => part !== '')
    .join('/')}`
  const prefix = base === '/' ? '/' : `${base}/`
  return tree(machine)
    .filter(({ path }) => path === base || path.startsWith(prefix))
    .map((entry) => {
      const relative = entry.path === base ? '.' : entry.path.slice(prefix.length)
      return { ...entry, relative, depth: relative === '.' ? 0 : relative.split('/').length }
    })
    .filter((entry) => entry.depth <= depth)
}
