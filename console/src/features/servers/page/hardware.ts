/**
 * Summaries of a server's hardware, such as one line for twelve equal memory modules. Sizes in
 * bytes, clock in MHz; null is unknown, never 0.
 */
import { withoutPaths } from '#contract/disks/disks.ts'
import type { Resources } from '#contract/servers/servers.ts'
import { disk, memory } from '../../../lib/units.ts'

/** The sum, or null if a value is unknown or there are no values. */
export const sumKnown = (values: readonly (number | undefined)[]): number | null =>
  values.length === 0 || values.some((v) => v === undefined)
    ? null
    : values.reduce<number>((sum, v) => sum + (v ?? 0), 0)

function grouped<T>(items: readonly T[], key: (item: T) => string): T[][] {
  return [...Map.groupBy(items, key).values()]
}

/** The text before the first match of a pattern, or the whole text. */
function upTo(text: string, pattern: RegExp): string {
  const at = text.search(pattern)
  return at === -1 ? text : text.slice(0, at)
}

/**
 * "AMD EPYC 9354 32-Core Processor" is "AMD EPYC 9354", "Intel(R) Xeon(R) Gold 6430 CPU @ 2.10GHz"
 * is "Intel Xeon Gold 6430".
 */
export function shortModel(manufacturer: string | undefined, product: string | undefined): string {
  const plain = (product ?? '').replaceAll(/\((?:R|TM|C)\)/gi, '').replaceAll(/\s+/g, ' ')
  const name = upTo(plain, / (?:\d+-Core\b|(?:CPU|Processor)\b|@)/i).trim()
  if (name !== '') return name
  return manufacturer === undefined || manufacturer === '' ? 'Unknown' : manufacturer
}

/**
 * "MT2892 Family [ConnectX-6 Dx]" is "ConnectX-6 Dx": pci.ids has the marketing name in brackets.
 */
export const shortProduct = (product: string): string =>
  /\[([^[\]]+)\]\s*$/.exec(product)?.[1] ?? product

/** "Mellanox Technologies" is "Mellanox". */
export const shortVendor = (vendor: string): string =>
  upTo(
    vendor,
    /,?(?<!\s)\s+(?:Technologies|Technology|Corporation|Corp\.?|Inc\.?|Ltd\.?|Co\.|Limited|Semiconductor|Networks)\b/i,
  )

export const processorLines = (processors: Resources['processors']) =>
  grouped(
    processors,
    (p) => `${p.product_name}\n${p.cpu_cores}\n${p.thread_count}\n${p.max_speed}`,
  ).map((same) => ({
    model: shortModel(same[0]?.manufacturer, same[0]?.product_name),
    units: same.length,
    cores: sumKnown(same.map((p) => p.cpu_cores)),
    threads: sumKnown(same.map((p) => p.thread_count)),
    maxMhz: same[0]?.max_speed ?? null,
  }))

/** Empty slots (0 bytes, as SMBIOS reports them) are left out. */
export const memoryLines = (modules: Resources['memory']) =>
  grouped(
    modules.filter((m) => m.size !== 0),
    (m) => `${m.manufacturer}\n${m.size}`,
  ).map((same) => ({
    maker: same[0]?.manufacturer ?? 'Unknown',
    modules: same.length,
    moduleBytes: same[0]?.size ?? null,
    totalBytes: sumKnown(same.map((m) => m.size)),
  }))

/**
 * Whether a machine has reported its hardware. If it reported other hardware but no disks, then it
 * has no disks.
 */
export const isHardwareKnown = (r: Resources): boolean =>
  r.processors.length + r.memory.length + r.interfaces.length > 0

/** Facts below a server's name: a value and a note each; null if unknown. */
export function summaryOf(r: Resources) {
  const cpu = processorLines(r.processors)
  const cores = sumKnown(r.processors.map((p) => p.cpu_cores))
  const ram = memoryLines(r.memory)
  const ramBytes = sumKnown(r.memory.map((m) => m.size))
  const disks = withoutPaths(r.disks)
  const diskBytes = sumKnown(disks.map((d) => d.size))
  const models = new Set(r.disks.map((d) => d.model ?? 'Unknown'))
  const up = r.interfaces.filter((i) => i.link_state === true)
  const makers = [
    ...new Set(
      up
        .map((i) => (i.product ? shortProduct(i.product) : i.vendor))
        .filter((name) => name !== undefined),
    ),
  ]
  return {
    processors:
      cpu.length === 0
        ? null
        : {
            text: cpu.map((c) => (c.units === 1 ? c.model : `${c.units} × ${c.model}`)).join(', '),
            more: cores === null ? '' : `${cores} cores`,
          },
    memory:
      ramBytes === null
        ? null
        : {
            text: memory(ramBytes),
            more: ram
              .map((m) =>
                m.moduleBytes === null
                  ? `${m.modules} modules`
                  : `${m.modules} × ${memory(m.moduleBytes)}`,
              )
              .join(', '),
          },
    disks:
      r.disks.length === 0
        ? isHardwareKnown(r)
          ? { text: 'None', more: '' }
          : null
        : {
            text: diskBytes === null ? 'Unknown size' : disk(diskBytes),
            more:
              models.size === 1 ? `${disks.length} × ${[...models][0]}` : `${disks.length} disks`,
          },
    links:
      r.interfaces.length === 0
        ? null
        : {
            text: `${up.length} of ${r.interfaces.length} up`,
            more: makers.length === 1 ? makers[0]! : '',
          },
  }
}

/** "/dev/nvme0n1", the disk's name in patches and `talosctl`. */
export const devicePath = (id: string): string => (id.startsWith('/') ? id : `/dev/${id}`)
export const deviceName = (id: string): string => id.replace(/^\/dev\//, '')

/** "NVMe", "SSD", "HDD"; Talos reports lower case. */
export const diskType = (type: string | undefined): string => {
  if (type === undefined || type === '') return 'Unknown'
  return type.toLowerCase() === 'nvme' ? 'NVMe' : type.toUpperCase()
}
