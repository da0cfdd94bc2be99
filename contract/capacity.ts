import { type Disk, withoutPaths } from './disks/disks.ts'

/** Compute unit: 1 physical core and 4 GiB of RAM, sold as 2 vCPU + 4 GiB. */
const gibibyte = 1024 ** 3

export interface Hardware {
  processors: readonly { cpu_cores?: number | undefined; thread_count?: number | undefined }[]
  memory: readonly { size?: number | undefined }[]
  disks: readonly Pick<Disk, 'size' | 'wwid' | 'serial' | 'model'>[]
}

/** Cores, threads, RAM and disk of a server. Unknown values are null, never 0. Sizes in bytes. */
export function capacityOf(hardware: Hardware): {
  cores: number | null
  threads: number | null
  memory_bytes: number | null
  disk_bytes: number | null
} {
  const sum = (values: (number | undefined)[]) =>
    values.length === 0 || values.some((v) => v === undefined)
      ? null
      : values.reduce<number>((a, v) => a + v!, 0)
  return {
    cores: sum(hardware.processors.map((p) => p.cpu_cores)),
    threads: sum(hardware.processors.map((p) => p.thread_count)),
    memory_bytes: sum(hardware.memory.map((m) => m.size)),
    // A disk with several paths counts once.
    disk_bytes: sum(withoutPaths(hardware.disks).map((d) => d.size)),
  }
}

/** CU = min(cores, floor(RAM GiB / 4)); null if either is unknown. */
export const computeUnits = (hardware: Hardware): number | null => unitsOf(capacityOf(hardware))

/** Like `computeUnits`, from the sums. */
export function unitsOf({
  cores,
  memory_bytes,
}: {
  cores: number | null
  memory_bytes: number | null
}): number | null {
  return cores === null || memory_bytes === null
    ? null
    : Math.min(cores, Math.floor(memory_bytes / gibibyte / 4))
}
