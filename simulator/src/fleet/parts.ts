import type { Random } from '../random.ts'

/** Hardware parts with the names, identifiers and sizes that their makers give them (data sheets and the PCI ID list), as Talos reports them. */
export interface Processor {
  manufacturer: string
  product: string
  cores: number
  threads: number
  maxSpeedMhz: number
  baseSpeedMhz: number
  partNumber: string
}

export interface MemoryKind {
  manufacturer: string
  product: string
  sizeMib: number
  speed: number
}

export interface DiskKind {
  model: string
  sizeBytes: number
  transport: 'nvme' | 'sata'
  rotational: boolean
  /** First half of the world-wide name: the maker's own registered prefix. */
  wwn: string
  serial: (random: Random) => string
}

export interface NicKind {
  vendor: string
  product: string
  vendorId: string
  productId: string
  driver: string
  firmware: string
  oui: string
  ports: number
  speedMegabits: number
}

const digits = (random: Random, count: number): string => Array.from({ length: count }, () => random.int(0, 9)).join('')
const upper = (random: Random, count: number): string =>
  Array.from({ length: count }, () => '0123456789ABCDEFGHJKLMNPRSTUVWXY'.charAt(random.int(0, 31))).join('')

const epyc = (model: string, cores: number, maxSpeedMhz: number, baseSpeedMhz: number, partNumber: string): Processor => ({
  manufacturer: 'Advanced Micro Devices, Inc.',
  product: `AMD EPYC ${model} ${cores}-Core Processor`,
  cores,
  threads: cores * 2,
  maxSpeedMhz,
  baseSpeedMhz,
  partNumber,
})
const xeon = (model: string, cores: number, maxSpeedMhz: number, baseSpeedMhz: number): Processor => ({
  manufacturer: 'Intel(R) Corporation',
  product: `Intel(R) Xeon(R) ${model}`,
  cores,
  threads: cores * 2,
  maxSpeedMhz,
  baseSpeedMhz,
  partNumber: '',
})

export const CPU = {
  epyc9354p: epyc('9354P', 32, 3800, 3250, '100-000000805'),
  epyc9454: epyc('9454', 48, 3800, 2750, '100-000000478'),
  epyc9124: epyc('9124', 16, 3700, 3000, '100-000000802'),
  epyc7543: epyc('7543', 32, 3700, 2800, '100-000000345'),
  epyc4464p: epyc('4464P', 12, 5400, 3700, '100-000001474'),
  xeon6338: xeon('Gold 6338 CPU @ 2.00GHz', 32, 3200, 2000),
  xeon4314: xeon('Silver 4314 CPU @ 2.40GHz', 16, 3400, 2400),
  xeon6430: xeon('Gold 6430', 32, 3400, 2100),
} satisfies Record<string, Processor>

export const DIMM = {
  samsungDdr5x32: { manufacturer: 'Samsung', product: 'M321R4GA3BB6-CQKET', sizeMib: 32_768, speed: 4800 },
  hynixDdr5x64: { manufacturer: 'SK Hynix', product: 'HMCG94MEBRA109N', sizeMib: 65_536, speed: 4800 },
  micronDdr5x16: { manufacturer: 'Micron Technology', product: 'MTC10F1084S1RC48BA1', sizeMib: 16_384, speed: 4800 },
  kingstonDdr5x32: { manufacturer: 'Kingston', product: 'KSM52E42BD8KM-32HA', sizeMib: 32_768, speed: 5200 },
  micronDdr4x32: { manufacturer: 'Micron Technology', product: '36ASF4G72PZ-3G2R1', sizeMib: 32_768, speed: 3200 },
  hynixDdr4x16: { manufacturer: 'SK Hynix', product: 'HMA82GR7DJR8N-XN', sizeMib: 16_384, speed: 3200 },
  samsungDdr4x64: { manufacturer: 'Samsung', product: 'M393A8G40BB4-CWE', sizeMib: 65_536, speed: 3200 },
} satisfies Record<string, MemoryKind>

export const DISK = {
  pm9a3: {
    model: 'SAMSUNG MZQL21T9HCJR-00A07',
    sizeBytes: 1_920_383_410_176,
    transport: 'nvme',
    rotational: false,
    wwn: '36344830',
    serial: (r) => `S64GNE0T${digits(r, 6)}`,
  },
  pm9a3x4: {
    model: 'SAMSUNG MZQL23T8HCLS-00A07',
    sizeBytes: 3_840_755_982_336,
    transport: 'nvme',
    rotational: false,
    wwn: '36344630',
    serial: (r) => `S64HNE0T${digits(r, 6)}`,
  },
  kioxiaCd6: {
    model: 'KIOXIA KCD61LUL3T84',
    sizeBytes: 3_840_755_982_336,
    transport: 'nvme',
    rotational: false,
    wwn: '00000000',
    serial: (r) => `${upper(r, 4)}A0${upper(r, 2)}T1C8`,
  },
  micron7450: {
    model: 'Micron_7450_MTFDKCC7T6TFR',
    sizeBytes: 7_681_501_126_656,
    transport: 'nvme',
    rotational: false,
    wwn: '00a07501',
    serial: (r) => `2243${upper(r, 8)}`,
  },
  solidigmP5520: {
    model: 'SOLIDIGM SSDPF2KX038T1',
    sizeBytes: 3_840_755_982_336,
    transport: 'nvme',
    rotational: false,
    wwn: '01000000',
    serial: (r) => `PHAX${digits(r, 6)}3P8CGN`,
  },
  intelS4510: {
    model: 'INTEL SSDSC2KB480G8',
    sizeBytes: 480_103_981_056,
    transport: 'sata',
    rotational: false,
    wwn: '55cd2e41',
    serial: (r) => `PHYF${digits(r, 6)}480BGN`,
  },
  microns5300: {
    model: 'Micron_5300_MTFDDAK960TDS',
    sizeBytes: 960_197_124_096,
    transport: 'sata',
    rotational: false,
    wwn: '500a0751',
    serial: (r) => `2031${upper(r, 8)}`,
  },
  exos16: {
    model: 'ST16000NM001G-2KK103',
    sizeBytes: 16_000_900_661_248,
    transport: 'sata',
    rotational: true,
    wwn: '5000c500',
    serial: (r) => `ZL2${upper(r, 5)}`,
  },
} satisfies Record<string, DiskKind>

const MELLANOX = { vendor: 'Mellanox Technologies', vendorId: '0x15b3', driver: 'mlx5_core' }
const INTEL = { vendor: 'Intel Corporation', vendorId: '0x8086', driver: 'ice' }
const BROADCOM = { vendor: 'Broadcom Inc. and subsidiaries', vendorId: '0x14e4', driver: 'bnxt_en' }

export const NIC = {
  connectx6lx: {
    ...MELLANOX,
    product: 'MT2894 Family [ConnectX-6 Lx]',
    productId: '0x101f',
    firmware: '26.39.1002 (MT_0000000531)',
    oui: '94:6d:ae',
    ports: 2,
    speedMegabits: 25_000,
  },
  connectx6dx: {
    ...MELLANOX,
    product: 'MT2892 Family [ConnectX-6 Dx]',
    productId: '0x101d',
    firmware: '22.39.2048 (MT_0000000359)',
    oui: 'b8:ce:f6',
    ports: 2,
    speedMegabits: 100_000,
  },
  connectx5: {
    ...MELLANOX,
    product: 'MT27800 Family [ConnectX-5]',
    productId: '0x1017',
    firmware: '16.35.3006 (MT_0000000012)',
    oui: '0c:42:a1',
    ports: 2,
    speedMegabits: 100_000,
  },
  e810xxv: {
    ...INTEL,
    product: 'Ethernet Controller E810-XXV for SFP',
    productId: '0x159b',
    firmware: '4.40 0x8001c967 1.3534.0',
    oui: 'b4:96:91',
    ports: 2,
    speedMegabits: 25_000,
  },
  e810c: {
    ...INTEL,
    product: 'Ethernet Controller E810-C for QSFP',
    productId: '0x1592',
    firmware: '4.40 0x8001c96c 1.3534.0',
    oui: '40:a6:b7',
    ports: 2,
    speedMegabits: 100_000,
  },
  bcm57414: {
    ...BROADCOM,
    product: 'BCM57414 NetXtreme-E 10Gb/25Gb RDMA Ethernet Controller',
    productId: '0x16d7',
    firmware: '226.0.145.1/pkg 226.1.107.1',
    oui: 'bc:97:e1',
    ports: 2,
    speedMegabits: 25_000,
  },
  i350: {
    vendor: 'Intel Corporation',
    vendorId: '0x8086',
    driver: 'igb',
    product: 'I350 Gigabit Network Connection',
    productId: '0x1521',
    firmware: '1.63, 0x800009fa',
    oui: '3c:ec:ef',
    ports: 2,
    speedMegabits: 1_000,
  },
} satisfies Record<string, NicKind>
