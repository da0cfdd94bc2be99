/** How much of a machine is in use: counters since its start. Every function throws TalosError only. */
import { MachineService } from '../proto/gen/machine/machine_pb.ts'
import { type CallContext, type CallOptions, one, unary } from './calls.ts'

const machine = MachineService.method

/** Counters grow from the start of the machine; memory is the value of now. */
export interface Usage {
  /** Start of the machine, in seconds since 1970. */
  readonly bootedAt: number
  /** Seconds of all processors together: all, and those without work (idle, or waiting for a disk). */
  readonly cpuSeconds: number
  readonly cpuIdleSeconds: number
  readonly memoryTotalBytes: number
  /** What programs can't get without swapping. */
  readonly memoryUsedBytes: number
  /** Sums of the whole disks. */
  readonly readBytes: number
  readonly writtenBytes: number
  /** Sums of the physical links. */
  readonly receivedBytes: number
  readonly sentBytes: number
}

/** Unit of the sector counters, whatever the disk has (Linux, Documentation/block/stat.rst). */
const sectorBytes = 512
/**
 * Names of physical links, as udev gives them (systemd.net-naming-scheme): `eno1`, `enp5s0`, `eth0`,
 * `ib0`, `enP2p33s0` in another PCI domain, `enX0` in Xen. VLANs, bonds, bridges and the links of
 * pods carry the same bytes once more.
 */
const physicalLink = /^(?:en|eth|ib)[A-Za-z0-9]+$/
export const isPhysicalLink = (name: string): boolean => physicalLink.test(name)
/** Whole disks: neither partitions nor devices that are made of other disks. */
const wholeDisk = /^(?:nvme\d+n\d+|[shv]d[a-z]+|xvd[a-z]+|mmcblk\d+)$/

/** The values are unsigned, and only their differences are used, so rounding above 2^53 is harmless. */
const sum = <T>(parts: readonly T[], of: (part: T) => bigint): number =>
  Number(parts.reduce((total, part) => total + of(part), 0n))

export const usageCalls = (connection: CallContext) => ({
  /** Four calls at once. Machines in maintenance mode refuse them. */
  async usage(options: CallOptions = {}): Promise<Usage> {
    const [stat, memory, disks, links] = await Promise.all([
      unary(connection, options, machine.systemStat, {}),
      unary(connection, options, machine.memory, {}),
      unary(connection, options, machine.diskStats, {}),
      unary(connection, options, machine.networkDeviceStats, {}),
    ])
    const { bootTime, cpuTotal } = one(stat.messages, machine.systemStat.name)
    const { meminfo } = one(memory.messages, machine.memory.name)
    const whole = one(disks.messages, machine.diskStats.name).devices.filter((d) =>
      wholeDisk.test(d.name),
    )
    const physical = one(links.messages, machine.networkDeviceStats.name).devices.filter((d) =>
      isPhysicalLink(d.name),
    )
    const idle = (cpuTotal?.idle ?? 0) + (cpuTotal?.iowait ?? 0)
    // Guests' time is part of `user` and `nice` already (Linux, proc_stat(5)).
    const busy = ['user', 'nice', 'system', 'irq', 'softIrq', 'steal'] as const
    // Talos reports kB, as /proc/meminfo does.
    const [total, available] = [
      Number(meminfo?.memtotal ?? 0n),
      Number(meminfo?.memavailable ?? 0n),
    ]
    return {
      bootedAt: Number(bootTime),
      cpuSeconds: busy.reduce((seconds, kind) => seconds + (cpuTotal?.[kind] ?? 0), idle),
      cpuIdleSeconds: idle,
      memoryTotalBytes: total * 1024,
      memoryUsedBytes: Math.max(0, total - available) * 1024,
      readBytes: sum(whole, (d) => d.readSectors) * sectorBytes,
      writtenBytes: sum(whole, (d) => d.writeSectors) * sectorBytes,
      receivedBytes: sum(physical, (d) => d.rxBytes),
      sentBytes: sum(physical, (d) => d.txBytes),
    }
  },
})
