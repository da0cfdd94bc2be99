import { seeded, type Random } from '../random.ts'
import { type MediaKind, mediaDisk } from './media.ts'
import { CPU, DIMM, DISK, NIC, type MemoryKind, type NicKind, type Processor } from './parts.ts'

/** Hardware of a simulated server. Identifiers look like the maker's but are invented. */
export type Hardware = ReturnType<typeof hardwareOf>
export type Link = Hardware['links'][number]
export type Identity = ReturnType<typeof identityOf>

export interface Disk {
  name: string
  model: string
  serial: string
  wwid: string
  sizeBytes: number
  transport: 'nvme' | 'sata' | 'usb' | 'mmc' | 'iscsi' | 'virtio'
  rotational: boolean
  readonly: boolean
  busPath: string
}

interface Model {
  manufacturer: string
  product: string
  sku: string
  processor: Processor
  sockets: number
  socketName: (index: number) => string
  memory: {
    module: MemoryKind
    slots: number
    filled: number
    locator: (slot: number) => [locator: string, bank: string]
  }
  /** Number of disks by kind. */
  disks: Partial<Record<keyof typeof DISK, number>>
  /** Every second hard disk is another path to the one before it. */
  hasPaths?: boolean
  nics: readonly NicKind[]
  serial: (random: Random) => string
}

const letter = (index: number): string => String.fromCodePoint(65 + index)
const amdSlot = (slot: number): [string, string] => ['DIMM 0', `P0 CHANNEL ${letter(slot)}`]
const amdPairSlot =
  (perSocket: number) =>
  (slot: number): [string, string] => [
    'DIMM 0',
    `P${Math.floor(slot / perSocket)} CHANNEL ${letter(slot % perSocket)}`,
  ]
const intelSlot = (slot: number): [string, string] => [
  `${slot < 16 ? 'A' : 'B'}${(slot % 16) + 1}`,
  '',
]
const code = (random: Random, length: number): string =>
  Array.from({ length }, () => '0123456789BCDFGHJKLMNPQRSTVWXYZ'.charAt(random.int(0, 30))).join('')

/**
 * The machines of the catalogue: EPYC and Xeon, DDR4 and DDR5, NVMe and SATA, 25 and 100 GbE; the
 * ASRock Rack one has no management controller.
 */
const MODELS = {
  'supermicro-as-1115cs': {
    manufacturer: 'Supermicro',
    product: 'AS -1115CS-TNR',
    sku: 'To be filled by O.E.M.',
    processor: CPU.epyc9354p,
    sockets: 1,
    socketName: () => 'CPU',
    memory: { module: DIMM.samsungDdr5x32, slots: 12, filled: 12, locator: amdSlot },
    disks: { pm9a3: 2, pm9a3x4: 2 },
    nics: [NIC.connectx6lx],
    serial: (r) => `S${r.int(100_000, 999_999)}X3${r.int(100_000, 999_999)}`,
  },
  'dell-r650': {
    manufacturer: 'Dell Inc.',
    product: 'PowerEdge R650',
    sku: 'SKU=0912;ModelName=PowerEdge R650',
    processor: CPU.xeon6338,
    sockets: 2,
    socketName: (i) => `CPU${i + 1}`,
    memory: { module: DIMM.micronDdr4x32, slots: 32, filled: 16, locator: intelSlot },
    disks: { intelS4510: 2, kioxiaCd6: 2 },
    nics: [NIC.e810xxv],
    serial: (r) => code(r, 7),
  },
  'hpe-dl365-gen11': {
    manufacturer: 'HPE',
    product: 'ProLiant DL365 Gen11',
    sku: 'P59706-421',
    processor: CPU.epyc9124,
    sockets: 2,
    socketName: (i) => `Proc ${i + 1}`,
    memory: {
      module: DIMM.micronDdr5x16,
      slots: 24,
      filled: 24,
      locator: (slot) => [`PROC ${Math.floor(slot / 12) + 1} DIMM ${(slot % 12) + 1}`, ''],
    },
    disks: { pm9a3: 2, micron7450: 1 },
    nics: [NIC.bcm57414],
    serial: (r) => `CZ2${r.int(10, 49)}${code(r, 5)}`,
  },
  'lenovo-sr630-v2': {
    manufacturer: 'Lenovo',
    product: 'ThinkSystem SR630 V2',
    sku: '7Z71CTO1WW',
    processor: CPU.xeon4314,
    sockets: 2,
    socketName: (i) => `CPU ${i + 1}`,
    memory: {
      module: DIMM.hynixDdr4x16,
      slots: 32,
      filled: 16,
      locator: (slot) => [`DIMM ${slot + 1}`, `Bank ${slot + 1}`],
    },
    disks: { microns5300: 2, exos16: 2 },
    nics: [NIC.connectx5, NIC.i350],
    serial: (r) => `J30${code(r, 5)}`,
  },
  'gigabyte-r152': {
    manufacturer: 'GIGABYTE',
    product: 'R152-Z30-00',
    sku: '01234567890123456789AB',
    processor: CPU.epyc7543,
    sockets: 1,
    socketName: () => 'P0',
    memory: {
      module: DIMM.samsungDdr4x64,
      slots: 16,
      filled: 8,
      locator: (slot) => [`DIMM_P0_${letter(Math.floor(slot / 2))}${slot % 2}`, `BANK ${slot}`],
    },
    disks: { solidigmP5520: 2 },
    nics: [NIC.connectx6dx],
    serial: (r) => `GJH6N${r.int(1000, 9999)}A${r.int(1000, 9999)}`,
  },
  'dell-r760': {
    manufacturer: 'Dell Inc.',
    product: 'PowerEdge R760',
    sku: 'SKU=0A6B;ModelName=PowerEdge R760',
    processor: CPU.xeon6430,
    sockets: 2,
    socketName: (i) => `CPU${i + 1}`,
    memory: { module: DIMM.hynixDdr5x64, slots: 32, filled: 16, locator: intelSlot },
    disks: { intelS4510: 2, micron7450: 4 },
    nics: [NIC.e810c],
    serial: (r) => code(r, 7),
  },
  'supermicro-as-2125hs': {
    manufacturer: 'Supermicro',
    product: 'AS -2125HS-TNR',
    sku: 'To be filled by O.E.M.',
    processor: CPU.epyc9454,
    sockets: 2,
    socketName: (i) => `CPU${i + 1}`,
    memory: { module: DIMM.hynixDdr5x64, slots: 24, filled: 24, locator: amdPairSlot(12) },
    disks: { pm9a3: 2, micron7450: 4 },
    nics: [NIC.connectx6dx],
    serial: (r) => `S${r.int(100_000, 999_999)}X4${r.int(100_000, 999_999)}`,
  },
  'asrockrack-b650d4u': {
    manufacturer: 'ASRockRack',
    product: '1U2E-B650',
    sku: '',
    processor: CPU.epyc4464p,
    sockets: 1,
    socketName: () => 'AM5',
    memory: {
      module: DIMM.kingstonDdr5x32,
      slots: 4,
      filled: 4,
      locator: (slot) => [`DIMM ${slot % 2}`, `P0 CHANNEL ${letter(Math.floor(slot / 2))}`],
    },
    disks: { pm9a3: 2 },
    nics: [NIC.bcm57414],
    serial: (r) => `M80-GC0${r.int(10_000, 99_999)}`,
  },
} satisfies Record<string, Model>

/** Unusual machines, which only a scenario names. */
const UNUSUAL = {
  // 60 bays that both expanders of the shelf reach: each hard disk has two paths.
  'jbod-60': {
    manufacturer: 'Supermicro',
    product: 'SSG-640SP-E1CR60',
    sku: 'To be filled by O.E.M.',
    processor: CPU.xeon6338,
    sockets: 2,
    socketName: (i) => `CPU${i + 1}`,
    memory: { module: DIMM.micronDdr4x32, slots: 16, filled: 16, locator: intelSlot },
    disks: { intelS4510: 2, exos16: 60 },
    hasPaths: true,
    nics: Array.from({ length: 25 }, () => NIC.i350),
    serial: (r) => `S${r.int(100_000, 999_999)}J${r.int(100_000, 999_999)}`,
  },
} satisfies Record<string, Model>
const ALL = { ...MODELS, ...UNUSUAL }

export type ModelName = keyof typeof ALL
/** Models of an ordinary fleet. */
export const MODEL_NAMES = Object.keys(MODELS) as [ModelName, ...ModelName[]]
/** Models that a scenario may name. */
export const ALL_MODEL_NAMES = Object.keys(ALL) as [ModelName, ...ModelName[]]

/** Maker and product, without generating the parts. */
export const modelName = (name: ModelName): string =>
  `${ALL[name].manufacturer} ${ALL[name].product}`

/**
 * UUID (version 4) and serial number of a server, derived from the seed only, so that this needs
 * none of the other hardware.
 */
export const identityOf = (seed: string, index: number, model: ModelName, salt = '') => {
  const random = seeded(`${seed}/identity/${index}/${salt}`)
  const hex = random.hex(32)
  const uuid = `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${'89ab'[Number.parseInt(hex.slice(16, 17), 16) % 4]}${hex.slice(17, 20)}-${hex.slice(20)}`
  return { uuid, serial: ALL[model].serial(random) }
}

/** The hardware of a server. `missingDisks` leaves the bays empty, so Talos can't be installed. */
export const hardwareOf = (
  seed: string,
  index: number,
  name: ModelName,
  options: {
    missingDisks?: boolean
    media?: readonly MediaKind[]
    /** Whether the second link is connected for sure. */
    secondNetwork?: boolean
  } = {},
) => {
  const model: Model = ALL[name]
  const random = seeded(`${seed}/hardware/${index}`)
  const sockets = Array.from({ length: model.sockets }, (_, socket) => ({
    name: model.socketName(socket),
    processor: model.processor,
    serial: model.processor.partNumber === '' ? '' : random.hex(15).toUpperCase(),
  }))
  const memory = Array.from({ length: model.memory.slots }, (_, slot) => {
    const [locator, bank] = model.memory.locator(slot)
    // On half-filled boards every second slot of a channel is empty. Talos reports such slots as
    // modules without fields.
    const filled =
      model.memory.filled === model.memory.slots ||
      slot % Math.round(model.memory.slots / model.memory.filled) === 0
    return {
      locator,
      bank,
      module: filled ? model.memory.module : null,
      serial: filled ? random.hex(8).toUpperCase() : '',
    }
  })
  return {
    model: name,
    manufacturer: model.manufacturer,
    product: model.product,
    sku: model.sku,
    sockets,
    memory,
    disks: [
      ...(options.missingDisks ? [] : disksOf(model, random)),
      ...(options.media ?? []).map((kind, slot) => mediaDisk(kind, slot, index)),
    ],
    links: linksOf(model, random).map((link, at) =>
      at === 1 && options.secondNetwork ? { ...link, up: true } : link,
    ),
  }
}

/**
 * The same hardware with the names of two disks exchanged, as a boot may do (`swapped`), or without
 * its last disk (`lost`).
 */
export const rearranged = (hardware: Hardware, what: 'swapped' | 'lost' | undefined): Hardware => {
  const { disks } = hardware
  if (what === undefined || disks.length < 2) return hardware
  if (what === 'lost') return { ...hardware, disks: disks.slice(0, -1) }
  const [first, second] = disks.filter(({ transport }) => transport === disks[0]!.transport)
  if (!first || !second) return hardware
  const names = new Map([
    [first.name, second.name],
    [second.name, first.name],
  ])
  return {
    ...hardware,
    disks: disks.map((disk) => ({ ...disk, name: names.get(disk.name) ?? disk.name })),
  }
}

/** The hardware without the last `count` disks beside the system disk, which have not appeared yet. */
export const withoutLast = (
  hardware: Hardware,
  count: number,
  systemDisk: string | null,
): Hardware => {
  if (count === 0) return hardware
  const late = new Set(hardware.disks.filter(({ name }) => name !== systemDisk).slice(-count))
  return { ...hardware, disks: hardware.disks.filter((disk) => !late.has(disk)) }
}

/** `a` to `z`, then `aa`, `ab`, … */
const letters = (index: number): string =>
  (index < 26 ? '' : letters(Math.floor(index / 26) - 1)) + letter(index % 26).toLowerCase()

const disksOf = (model: Model, random: Random): Disk[] => {
  const disks = ownDisksOf(model, random)
  if (model.hasPaths !== true) return disks
  const hard = disks.filter(({ rotational }) => rotational)
  return disks.map((disk) => {
    const at = hard.indexOf(disk)
    const { serial, wwid } = at % 2 === 1 ? hard[at - 1]! : disk
    return { ...disk, serial, wwid }
  })
}

const ownDisksOf = (model: Model, random: Random): Disk[] => {
  const slots = { nvme: 0, sata: 0 }
  return Object.entries(model.disks).flatMap(([name, count]) => {
    const kind = DISK[name as keyof typeof DISK]
    return Array.from({ length: count }, () => {
      const isNvme = kind.transport === 'nvme'
      const slot = slots[kind.transport]++
      return {
        name: isNvme ? `nvme${slot}n1` : `sd${letters(slot)}`,
        model: kind.model,
        serial: kind.serial(random),
        wwid: isNvme ? `eui.${kind.wwn}${random.hex(24)}` : `naa.${kind.wwn}${random.hex(8)}`,
        sizeBytes: kind.sizeBytes,
        transport: kind.transport,
        rotational: kind.rotational,
        readonly: false,
        busPath: isNvme
          ? `/pci0000:40/0000:40:01.${slot + 1}/0000:${(65 + slot).toString(16)}:00.0/nvme`
          : `/pci0000:00/0000:00:17.0/ata${slot + 1}/host${slot}/target${slot}:0:0/${slot}:0:0:0/`,
      }
    })
  })
}

const linksOf = (model: Model, random: Random) => {
  let index = 2
  return model.nics.flatMap((nic, card) => {
    const bus = model.nics.length > 7 ? 0x20 + card * 4 : 0x81 + card * 0x10
    const base = random.int(0, 0xff_ff_00)
    return Array.from({ length: nic.ports }, (_, port) => {
      const tail = (base + port).toString(16).padStart(6, '0')
      return {
        name: `enp${bus}s0f${port}${nic.driver === 'mlx5_core' || nic.driver === 'bnxt_en' ? 'np' + port : ''}`,
        index: index++,
        mac: `${nic.oui}:${tail.slice(0, 2)}:${tail.slice(2, 4)}:${tail.slice(4)}`,
        // The first port of the first card is connected to the management network. The second port
        // is cabled only in some racks.
        up: card === 0 && (port === 0 || random.next() < 0.5),
        nic,
        busPath: `0000:${bus.toString(16)}:00.${port}`,
      }
    })
  })
}
