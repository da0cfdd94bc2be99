import type { Random } from '../random.ts'

// Hardware parts, as Talos reports them, with their makers' names, identifiers and sizes (from data
// sheets and the PCI ID list).

export type Processor = ReturnType<typeof processor>
export type MemoryKind = (typeof DIMM)[keyof typeof DIMM]
export type NicKind = ReturnType<ReturnType<typeof cards>>

const digits = (random: Random, count: number): string =>
  Array.from({ length: count }, () => random.int(0, 9)).join('')
const upper = (random: Random, count: number): string =>
  Array.from({ length: count }, () =>
    '0123456789ABCDEFGHJKLMNPRSTUVWXY'.charAt(random.int(0, 31)),
  ).join('')

const processor = (
  manufacturer: string,
  product: string,
  cores: number,
  maxSpeedMhz: number,
  baseSpeedMhz: number,
  partNumber: string,
) => {
  return { manufacturer, product, cores, threads: cores * 2, maxSpeedMhz, baseSpeedMhz, partNumber }
}
const epyc = (
  model: string,
  cores: number,
  maxMhz: number,
  baseMhz: number,
  partNumber: string,
): Processor =>
  processor(
    'Advanced Micro Devices, Inc.',
    `AMD EPYC ${model} ${cores}-Core Processor`,
    cores,
    maxMhz,
    baseMhz,
    partNumber,
  )
const xeon = (model: string, cores: number, maxMhz: number, baseMhz: number): Processor =>
  processor('Intel(R) Corporation', `Intel(R) Xeon(R) ${model}`, cores, maxMhz, baseMhz, '')

export const CPU = {
  epyc9354p: epyc('9354P', 32, 3800, 3250, '100-000000805'),
  epyc9454: epyc('9454', 48, 3800, 2750, '100-000000478'),
  epyc9124: epyc('9124', 16, 3700, 3000, '100-000000802'),
  epyc7543: epyc('7543', 32, 3700, 2800, '100-000000345'),
  epyc4464p: epyc('4464P', 12, 5400, 3700, '100-000001474'),
  xeon6338: xeon('Gold 6338 CPU @ 2.00GHz', 32, 3200, 2000),
  xeon4314: xeon('Silver 4314 CPU @ 2.40GHz', 16, 3400, 2400),
  xeon6430: xeon('Gold 6430', 32, 3400, 2100),
}

export const DIMM = {
  samsungDdr5x32: {
    manufacturer: 'Samsung',
    product: 'M321R4GA3BB6-CQKET',
    sizeMib: 32_768,
    speed: 4800,
  },
  hynixDdr5x64: {
    manufacturer: 'SK Hynix',
    product: 'HMCG94MEBRA109N',
    sizeMib: 65_536,
    speed: 4800,
  },
  micronDdr5x16: {
    manufacturer: 'Micron Technology',
    product: 'MTC10F1084S1RC48BA1',
    sizeMib: 16_384,
    speed: 4800,
  },
  kingstonDdr5x32: {
    manufacturer: 'Kingston',
    product: 'KSM52E42BD8KM-32HA',
    sizeMib: 32_768,
    speed: 5200,
  },
  micronDdr4x32: {
    manufacturer: 'Micron Technology',
    product: '36ASF4G72PZ-3G2R1',
    sizeMib: 32_768,
    speed: 3200,
  },
  hynixDdr4x16: {
    manufacturer: 'SK Hynix',
    product: 'HMA82GR7DJR8N-XN',
    sizeMib: 16_384,
    speed: 3200,
  },
  samsungDdr4x64: {
    manufacturer: 'Samsung',
    product: 'M393A8G40BB4-CWE',
    sizeMib: 65_536,
    speed: 3200,
  },
}

/** `wwn` is the first half of the world-wide name: the maker's own registered prefix. */
const disk =
  (transport: 'nvme' | 'sata', rotational = false) =>
  (model: string, sizeBytes: number, wwn: string, serial: (random: Random) => string) => {
    return { model, sizeBytes, transport, rotational, wwn, serial }
  }
const nvme = disk('nvme')
const sata = disk('sata')

export const DISK = {
  pm9a3: nvme(
    'SAMSUNG MZQL21T9HCJR-00A07',
    1_920_383_410_176,
    '36344830',
    (r) => `S64GNE0T${digits(r, 6)}`,
  ),
  pm9a3x4: nvme(
    'SAMSUNG MZQL23T8HCLS-00A07',
    3_840_755_982_336,
    '36344630',
    (r) => `S64HNE0T${digits(r, 6)}`,
  ),
  kioxiaCd6: nvme(
    'KIOXIA KCD61LUL3T84',
    3_840_755_982_336,
    '00000000',
    (r) => `${upper(r, 4)}A0${upper(r, 2)}T1C8`,
  ),
  micron7450: nvme(
    'Micron_7450_MTFDKCC7T6TFR',
    7_681_501_126_656,
    '00a07501',
    (r) => `2243${upper(r, 8)}`,
  ),
  solidigmP5520: nvme(
    'SOLIDIGM SSDPF2KX038T1',
    3_840_755_982_336,
    '01000000',
    (r) => `PHAX${digits(r, 6)}3P8CGN`,
  ),
  intelS4510: sata(
    'INTEL SSDSC2KB480G8',
    480_103_981_056,
    '55cd2e41',
    (r) => `PHYF${digits(r, 6)}480BGN`,
  ),
  microns5300: sata(
    'Micron_5300_MTFDDAK960TDS',
    960_197_124_096,
    '500a0751',
    (r) => `2031${upper(r, 8)}`,
  ),
  exos16: disk('sata', true)(
    'ST16000NM001G-2KK103',
    16_000_900_661_248,
    '5000c500',
    (r) => `ZL2${upper(r, 5)}`,
  ),
}

/** Network cards of one maker and driver, with two ports each. */
const cards =
  (vendor: string, vendorId: string, driver: string) =>
  (product: string, productId: string, firmware: string, oui: string, speedMegabits: number) => {
    return { vendor, product, vendorId, productId, driver, firmware, oui, ports: 2, speedMegabits }
  }
const mellanox = cards('Mellanox Technologies', '0x15b3', 'mlx5_core')
const intel = cards('Intel Corporation', '0x8086', 'ice')
const intelGigabit = cards('Intel Corporation', '0x8086', 'igb')
const broadcom = cards('Broadcom Inc. and subsidiaries', '0x14e4', 'bnxt_en')

export const NIC = {
  connectx6lx: mellanox(
    'MT2894 Family [ConnectX-6 Lx]',
    '0x101f',
    '26.39.1002 (MT_0000000531)',
    '94:6d:ae',
    25_000,
  ),
  connectx6dx: mellanox(
    'MT2892 Family [ConnectX-6 Dx]',
    '0x101d',
    '22.39.2048 (MT_0000000359)',
    'b8:ce:f6',
    100_000,
  ),
  connectx5: mellanox(
    'MT27800 Family [ConnectX-5]',
    '0x1017',
    '16.35.3006 (MT_0000000012)',
    '0c:42:a1',
    100_000,
  ),
  e810xxv: intel(
    'Ethernet Controller E810-XXV for SFP',
    '0x159b',
    '4.40 0x8001c967 1.3534.0',
    'b4:96:91',
    25_000,
  ),
  e810c: intel(
    'Ethernet Controller E810-C for QSFP',
    '0x1592',
    '4.40 0x8001c96c 1.3534.0',
    '40:a6:b7',
    100_000,
  ),
  bcm57414: broadcom(
    'BCM57414 NetXtreme-E 10Gb/25Gb RDMA Ethernet Controller',
    '0x16d7',
    '226.0.145.1/pkg 226.1.107.1',
    'bc:97:e1',
    25_000,
  ),
  i350: intelGigabit(
    'I350 Gigabit Network Connection',
    '0x1521',
    '1.63, 0x800009fa',
    '3c:ec:ef',
    1_000,
  ),
}
