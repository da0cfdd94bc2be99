import type { MessageInitShape } from '@bufbuild/protobuf'
import type * as proto from '#talos/proto/gen/machine/machine_pb.ts'
import type { Machine } from '../machine/machine.ts'
import { seeded } from '../random.ts'

/**
 * Usage of processors, memory and links: numbers that grow steadily with uptime and differ per
 * machine.
 */

const upSeconds = (machine: Machine): number =>
  Math.max(0, (machine.world.clock.now() - machine.journal.bootedAt) / 1000)
const share = (machine: Machine): number => seeded(`${machine.plan.name}/usage`).next()
const threadsOf = (machine: Machine): number =>
  machine.hardware.sockets.reduce((sum, { processor }) => sum + processor.threads, 0)

export const cpuInfo = (machine: Machine): MessageInitShape<typeof proto.CPUInfoSchema>[] =>
  machine.hardware.sockets.flatMap(({ processor }, socket) =>
    Array.from({ length: processor.threads }, (_, thread) => ({
      processor: socket * processor.threads + thread,
      vendorId: processor.product.startsWith('AMD') ? 'AuthenticAMD' : 'GenuineIntel',
      modelName: processor.product,
      cpuMhz: processor.baseSpeedMhz,
      physicalId: String(socket),
      siblings: processor.threads,
      coreId: String(thread % processor.cores),
      cpuCores: processor.cores,
    })),
  )

/**
 * Memory usage in kB. The total is slightly less than the size of the modules, because firmware and
 * kernel reserve some memory.
 */
export const memoryInfo = (machine: Machine): MessageInitShape<typeof proto.MemInfoSchema> => {
  const total = Math.round(
    machine.hardware.memory.reduce((sum, { module }) => sum + (module?.sizeMib ?? 0), 0) *
      1024 *
      0.985,
  )
  const used = Math.round(total * (machine.config?.node ? 0.02 + share(machine) * 0.06 : 0.006))
  const cached = Math.round(total * 0.01)
  return {
    memtotal: BigInt(total),
    memfree: BigInt(total - used - cached),
    memavailable: BigInt(total - used),
    buffers: 4096n,
    cached: BigInt(cached),
    swaptotal: 0n,
    swapfree: 0n,
  }
}

export const loadAverage = (machine: Machine): MessageInitShape<typeof proto.LoadAvgSchema> => {
  const base = machine.config?.node ? 0.3 + share(machine) * 1.5 : 0.02
  return { load1: base * 1.1, load5: base, load15: base * 0.9 }
}

export const systemStat = (machine: Machine): MessageInitShape<typeof proto.SystemStatSchema> => {
  const up = upSeconds(machine)
  const busy = machine.config?.node ? 0.01 + share(machine) * 0.05 : 0.001
  const threads = threadsOf(machine)
  const stat = (count: number): { user: number; system: number; idle: number; iowait: number } => ({
    user: up * busy * 0.7 * count,
    system: up * busy * 0.3 * count,
    idle: up * (1 - busy) * count,
    iowait: 0,
  })
  const ticks = BigInt(Math.round(up))
  return {
    bootTime: BigInt(Math.floor(machine.journal.bootedAt / 1000)),
    cpuTotal: stat(threads),
    cpu: Array.from({ length: threads }, () => stat(1)),
    contextSwitches: ticks * 4000n,
    processCreated: ticks * 3n,
    processRunning: 1n,
    processBlocked: 0n,
  }
}

export const diskStats = (machine: Machine): MessageInitShape<typeof proto.DiskStatsSchema> => {
  const ticks = BigInt(Math.round(upSeconds(machine)))
  const devices = machine.hardware.disks.map(({ name }) => {
    const rate = name === machine.systemDisk ? 12n : 0n
    return {
      name,
      readCompleted: ticks * rate,
      readSectors: ticks * rate * 64n,
      writeCompleted: ticks * rate * 2n,
      writeSectors: ticks * rate * 128n,
      ioTimeMs: ticks * rate,
    }
  })
  return { total: { name: 'total' }, devices }
}

export const networkStats = (
  machine: Machine,
): MessageInitShape<typeof proto.NetworkDeviceStatsSchema> => {
  const ticks = BigInt(Math.round(upSeconds(machine)))
  const devices = machine.hardware.links.map(({ name, up }) => ({
    name,
    rxBytes: up ? ticks * 18_000n : 0n,
    rxPackets: up ? ticks * 40n : 0n,
    txBytes: up ? ticks * 11_000n : 0n,
    txPackets: up ? ticks * 35n : 0n,
  }))
  return { total: { name: 'total' }, devices }
}
