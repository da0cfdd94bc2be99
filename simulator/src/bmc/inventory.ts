/** Processors, memory, disks and network interfaces of a system. */
import type { Disk } from '../fleet/hardware.ts'
import type { Bmc } from './bmc.ts'
import { addCollection, document, HEALTHY, link, ROOT, type Tree } from './tree.ts'

const processors = (tree: Tree, bmc: Bmc, system: string): void => {
  const { sockets } = bmc.machine.hardware
  const path = (at: number) => `${system}/Processors/${at + 1}`
  addCollection(tree, `${system}/Processors`, 'ProcessorCollection', () =>
    sockets.map((_, at) => path(at)),
  )
  for (const [at, { name, processor, serial }] of sockets.entries())
    tree.set(path(at), {
      read: () =>
        document(path(at), 'Processor.v1_23_0.Processor', String(at + 1), name, {
          Socket: name,
          ProcessorType: 'CPU',
          ProcessorArchitecture: 'x86',
          InstructionSet: 'x86-64',
          Manufacturer: processor.manufacturer,
          Model: processor.product,
          PartNumber: processor.partNumber,
          SerialNumber: serial,
          TotalCores: processor.cores,
          TotalThreads: processor.threads,
          MaxSpeedMHz: processor.maxSpeedMhz,
          Status: HEALTHY,
        }),
    })
}

const memory = (tree: Tree, bmc: Bmc, system: string): void => {
  const slots = bmc.machine.hardware.memory
  const path = (at: number) => `${system}/Memory/${at + 1}`
  addCollection(tree, `${system}/Memory`, 'MemoryCollection', () => slots.map((_, at) => path(at)))
  for (const [at, { locator, bank, module, serial }] of slots.entries())
    tree.set(path(at), {
      read: () =>
        document(
          path(at),
          'Memory.v1_24_0.Memory',
          String(at + 1),
          [bank, locator].filter((text) => text !== '').join(' '),
          module === null
            ? { DeviceLocator: locator, Status: { State: 'Absent' } }
            : {
                DeviceLocator: locator,
                MemoryType: 'DRAM',
                MemoryDeviceType: module.speed >= 4800 ? 'DDR5' : 'DDR4',
                CapacityMiB: module.sizeMib,
                OperatingSpeedMhz: module.speed,
                Manufacturer: module.manufacturer,
                PartNumber: module.product,
                SerialNumber: serial,
                ErrorCorrection: 'MultiBitECC',
                Status: {
                  State: 'Enabled',
                  Health: bmc.isBroken('memory-errors', at + 1) ? 'Warning' : 'OK',
                },
              },
        ),
    })
}

/** The disks that the BMC sees: each once, and none that is plugged in for a while. */
const ownDisks = (bmc: Bmc): Disk[] => [
  ...new Map(
    bmc.machine.hardware.disks
      .filter(({ transport }) => transport === 'nvme' || transport === 'sata')
      .map((disk) => [disk.serial, disk]),
  ).values(),
]

const storage = (tree: Tree, bmc: Bmc, system: string): void => {
  const disks = ownDisks(bmc)
  const kinds = (['nvme', 'sata'] as const).filter((kind) =>
    disks.some(({ transport }) => transport === kind),
  )
  const unit = (kind: string) => `${system}/Storage/${kind}`
  const path = (disk: Disk, at: number) => `${unit(disk.transport)}/Drives/${at + 1}`
  addCollection(tree, `${system}/Storage`, 'StorageCollection', () => kinds.map(unit))
  for (const kind of kinds) {
    const drives = disks.flatMap((disk, at) => (disk.transport === kind ? [path(disk, at)] : []))
    tree.set(unit(kind), {
      read: () =>
        document(unit(kind), 'Storage.v1_22_0.Storage', kind, kind.toUpperCase(), {
          Status: HEALTHY,
          'Drives@odata.count': drives.length,
          Drives: drives.map(link),
        }),
    })
  }
  for (const [at, disk] of disks.entries()) {
    const isFailing = bmc.isBroken('disk-predicts-failure', at + 1)
    tree.set(path(disk, at), {
      read: () =>
        document(path(disk, at), 'Drive.v1_22_0.Drive', String(at + 1), `Disk ${at + 1}`, {
          Model: disk.model,
          SerialNumber: disk.serial,
          CapacityBytes: disk.sizeBytes,
          MediaType: disk.rotational ? 'HDD' : 'SSD',
          Protocol: disk.transport === 'nvme' ? 'NVMe' : 'SATA',
          FailurePredicted: isFailing,
          PredictedMediaLifeLeftPercent: disk.rotational ? null : isFailing ? 3 : 96,
          Status: { State: 'Enabled', Health: isFailing ? 'Warning' : 'OK' },
          Links: { Chassis: link(`${ROOT}/Chassis/${bmc.personality.ids.chassis}`) },
        }),
    })
  }
}

const interfaces = (tree: Tree, bmc: Bmc, system: string): void => {
  const { links } = bmc.machine.hardware
  const path = (at: number) => `${system}/EthernetInterfaces/${at + 1}`
  addCollection(tree, `${system}/EthernetInterfaces`, 'EthernetInterfaceCollection', () =>
    links.map((_, at) => path(at)),
  )
  for (const [at, { mac, up, nic }] of links.entries())
    tree.set(path(at), {
      read: () =>
        document(
          path(at),
          'EthernetInterface.v1_12_5.EthernetInterface',
          String(at + 1),
          `${nic.product} port ${at + 1}`,
          {
            // Makers write them in capitals.
            MACAddress: mac.toUpperCase(),
            PermanentMACAddress: mac.toUpperCase(),
            InterfaceEnabled: true,
            LinkStatus: bmc.machine.isOn && up ? 'LinkUp' : 'LinkDown',
            SpeedMbps: bmc.machine.isOn && up ? nic.speedMegabits : null,
            Status: HEALTHY,
          },
        ),
    })
}

export const inventory = (tree: Tree, bmc: Bmc, system: string): void => {
  processors(tree, bmc, system)
  memory(tree, bmc, system)
  storage(tree, bmc, system)
  interfaces(tree, bmc, system)
}
