/** What a configuration reserves of a machine, held against what the machine has. */
import type { Report } from '../../config/report.ts'
import { textOf } from '../../config/report.ts'
import type { Inventory, InventoryRule } from '../known.ts'
import { hardEvictions, reserved } from '../limits/kubelet.ts'
import { processorsOf, quantityOf, settingOf, settingText } from '../limits/values.ts'
import type { Configuration, Hit } from '../rule.ts'

const isDown = 'the kubelet does not start'
const words = (bytes: number): string => `${Math.round((bytes / 1024 ** 3) * 10) / 10} GiB`

/** What Talos reserves if the configuration doesn't (`pkg/machinery/constants`). */
const byTalos = (isWorker: boolean): Readonly<Record<string, number>> => ({
  cpu: 0.05,
  memory: (isWorker ? 384 : 512) * 1024 ** 2,
  'ephemeral-storage': 256 * 1024 ** 2,
})
/** Kubernetes `pkg/kubelet/eviction/defaults_linux.go` */
const defaultEviction = 100 * 1024 ** 2

interface Reserved {
  readonly amount: number
  /** Where the largest part of it is said. */
  readonly path: readonly string[] | null
}

/** What is reserved of a resource, for the system, for Kubernetes and as the room of evictions. */
function reservedOf({ main, isWorker }: Configuration, key: string, capacity: number): Reserved {
  const system = reserved(main, 'system')
  const parts = [...system, ...reserved(main, 'kube')]
    .filter((one) => one.key === key)
    .map(({ path, text }) => ({ path, amount: quantityOf(text) || 0 }))
  const signal = key === 'memory' ? 'memory.available' : 'nodefs.available'
  const evictions = hardEvictions(main)
    .filter((one) => one.key === signal)
    .map(({ path, text }) => ({
      path,
      amount: text.endsWith('%')
        ? (capacity * Number(text.slice(0, -1))) / 100
        : quantityOf(text) || 0,
    }))
  const given = key === 'cpu' ? parts : [...parts, ...evictions]
  const own =
    (system.length === 0 ? (byTalos(isWorker)[key] ?? 0) : 0) +
    (key === 'memory' && hardEvictions(main).length === 0 ? defaultEviction : 0)
  return {
    amount: given.reduce((sum, { amount }) => sum + amount, own),
    path: given.toSorted((a, b) => b.amount - a.amount)[0]?.path ?? null,
  }
}

/** The size of the disk that has EPHEMERAL; null if that can't be told. */
function ephemeralDisk(config: Configuration, { disks, systemDisk }: Inventory): number | null {
  const volume = config.of('VolumeConfig').find((one) => one.text('name') === 'EPHEMERAL')
  if (volume?.has('provisioning', 'diskSelector') === true) return null
  return disks?.find(({ path }) => path === systemDisk)?.size ?? null
}

/** Bytes of a page of the default size, and of the sizes that sysfs names. */
const hugePage = 2 * 1024 ** 2
const inSysfs = /hugepages-(\d+)kB[./]nr_hugepages$/
const inArgument = /^hugepages=(\d+)$/
const sizes: Readonly<Record<string, number>> = { '2M': hugePage, '1G': 1024 ** 3 }

/** Huge pages that a configuration sets aside, in bytes. */
function* hugePages(main: Report): Generator<{ path: readonly string[]; bytes: number }> {
  for (const { path, key, node } of main.entries('machine', 'sysctls'))
    if (/^vm[./]nr_hugepages(_mempolicy)?$/.test(key))
      yield { path, bytes: Number(textOf(node)) * hugePage }
  for (const { path, key, node } of main.entries('machine', 'sysfs')) {
    const size = inSysfs.exec(key)?.[1]
    if (size !== undefined) yield { path, bytes: Number(textOf(node)) * Number(size) * 1024 }
  }
  let size = hugePage
  for (const { path, text } of main.texts('machine', 'install', 'extraKernelArgs'))
    for (const one of text.split(/\s+/)) {
      size = sizes[/^(?:default_)?hugepagesz=(\w+)$/.exec(one)?.[1] ?? ''] ?? size
      const count = inArgument.exec(one)?.[1]
      if (count !== undefined) yield { path, bytes: Number(count) * size }
    }
}

export const resourceRules: readonly InventoryRule[] = [
  {
    id: 'reserved-beyond-machine',
    source:
      'Kubernetes pkg/kubelet/cm/node_container_manager_linux.go, validateNodeAllocatable: "Expected capacity >= reservation"; Talos kubelet_spec.go reserves resources unless systemReserved is set',
    level: 'warn',
    *find(config, inventory): Generator<Hit> {
      const { server, memory, threads } = inventory
      const pinned = processorsOf(settingText(config.main, 'reservedSystemCPUs'))
      for (const { key, capacity, what } of [
        { key: 'memory', capacity: memory, what: 'memory' },
        // reservedSystemCPUs replaces both (`cmd/kubelet/app/server.go`).
        { key: 'cpu', capacity: pinned === null ? threads : null, what: 'threads' },
        { key: 'ephemeral-storage', capacity: ephemeralDisk(config, inventory), what: 'a disk' },
      ]) {
        if (capacity === null || capacity === undefined || capacity <= 0) continue
        const { amount, path } = reservedOf(config, key, capacity)
        if (path === null || amount <= capacity) continue
        const shown = (value: number): string =>
          key === 'cpu' ? String(Math.round(value * 100) / 100) : words(value)
        yield {
          document: config.main,
          path,
          sentence: `${shown(amount)} of ${key} are reserved, and ${server} has ${key === 'ephemeral-storage' ? `a disk of ${shown(capacity)}` : key === 'cpu' ? `${shown(capacity)} ${what}` : shown(capacity)}, so ${isDown}`,
        }
      }
    },
  },
  {
    id: 'reserved-processors-missing',
    source:
      'Kubernetes cmd/kubelet/app/server.go and pkg/kubelet/cm/cpumanager/policy_static.go: reserved processors must be online ones',
    level: 'warn',
    *find({ main }, { server, threads }) {
      const path = settingOf(main, 'reservedSystemCPUs')
      const list = processorsOf(settingText(main, 'reservedSystemCPUs'))
      if (path === undefined || list === null || !threads) return
      const missing = [...list].filter((one) => one >= threads)
      if (missing.length > 0)
        yield {
          document: main,
          path,
          sentence: `${server} has the processors 0 to ${threads - 1}, and no processor ${Math.min(...missing)}, so ${isDown}`,
        }
    },
  },
  {
    id: 'huge-pages-beyond-memory',
    source:
      'Linux Documentation/admin-guide/mm/hugetlbpage.rst: huge pages are taken out of the memory when they are set aside, and nothing else uses them',
    level: 'warn',
    *find({ main }, { server, memory }) {
      if (!memory) return
      const all = [...hugePages(main)].filter(({ bytes }) => bytes > 0)
      const sum = all.reduce((total, { bytes }) => total + bytes, 0)
      if (sum >= memory * 0.95)
        yield {
          document: main,
          path: all.toSorted((a, b) => b.bytes - a.bytes)[0]!.path,
          sentence: `${words(sum)} are set aside as huge pages, and ${server} has ${words(memory)}, so too little memory is left for everything else`,
        }
    },
  },
]
