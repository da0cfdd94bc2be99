/**
 * CEL expressions for which our checks and Talos's are compared: each field of what an expression
 * knows, with each operator and type of literal, and expressions written by hand. Expressions about
 * disks and links are evaluated on a sample as well.
 */
import { createHash } from 'node:crypto'
import { celProblem, celSelects, type CelFacts } from '#talos/config/cel.ts'
import { type CelScope, newestMessages } from '#talos/config/cel/environments.ts'
import { isSince, type Minor } from '#talos/versions.ts'

export interface ExpressionCase {
  scope: CelScope
  /** What the expressions are about, for messages. */
  about: string
  list: readonly string[]
}

/** A document of each scope, in which EXPRESSION stands for the expression, and its first minor. */
export const documents: Readonly<Record<CelScope, { since?: Minor; text: string }>> = {
  disk: {
    text: 'kind: UserVolumeConfig\nname: data\nprovisioning:\n  minSize: 1GiB\n  diskSelector:\n    match: EXPRESSION',
  },
  volume: {
    text: 'kind: ExistingVolumeConfig\nname: data\ndiscovery:\n  volumeSelector:\n    match: EXPRESSION',
  },
  'member volume': {
    since: '1.14',
    text: 'kind: LVMVolumeGroupConfig\nname: data\nprovisioning:\n  volumeSelector:\n    match: EXPRESSION',
  },
  link: { text: 'kind: LinkAliasConfig\nname: net0\nselector:\n  match: EXPRESSION' },
  'oom trigger': { text: 'kind: OOMConfig\ntriggerExpression: EXPRESSION' },
  'oom ranking': { text: 'kind: OOMConfig\ncgroupRankingExpression: EXPRESSION' },
}

/** A disk and a link, in protobuf's JSON. */
export const samples = {
  disk: {
    size: '2000398934016',
    io_size: '4096',
    sector_size: '512',
    readonly: false,
    model: 'WUS721202BLE6L4',
    serial: 'V1G0ABCD',
    modalias: 'scsi:t-0x00',
    wwid: 'naa.5000cca24ec0abcd',
    bus_path: '/pci0000:00/0000:00:17.0/ata1',
    sub_system: '/sys/class/block',
    transport: 'sata',
    rotational: true,
    cdrom: false,
    dev_path: '/dev/sda',
    pretty_size: '2.0 TB',
    secondary_disks: ['sdb', 'sdc'],
    uuid: '',
    symlinks: ['/dev/disk/by-id/wwn-0x5000cca24ec0abcd'],
    firmware_version: 'A1',
  },
  link: {
    index: 3,
    type: 1,
    link_index: 0,
    flags: 69_699,
    hardware_addr: '7MClABCr',
    broadcast_addr: '////////',
    mtu: 1500,
    queue_disc: 'mq',
    master_index: 0,
    operational_state: 6,
    kind: '',
    slave_kind: '',
    bus_path: '0000:81:00.0',
    pciid: '15B3:1017',
    driver: 'mlx5_core',
    driver_version: '6.12',
    firmware_version: '16.35',
    product_id: '0x1017',
    vendor_id: '0x15b3',
    product: 'ConnectX-5',
    vendor: 'Mellanox',
    link_state: true,
    speed_megabits: '25000',
    port: 3,
    duplex: 1,
    permanent_addr: '7MClABCr',
    alias: '',
    alt_names: ['enp129s0', 'enxecc0a5001aab'],
  },
} as const

/** A sample as facts of our own. */
function factsOf(of: 'disk' | 'link'): CelFacts {
  const types = newestMessages[of === 'disk' ? 'DiskSpec' : 'LinkStatusSpec']!
  return Object.fromEntries(
    Object.entries(samples[of]).map(([field, value]) => [
      field,
      types[field] === 'bytes'
        ? new Uint8Array(Buffer.from(String(value), 'base64'))
        : types[field] === 'uint' || types[field] === 'int'
          ? BigInt(value as string | number)
          : (value as string | boolean | readonly string[]),
    ]),
  )
}
const facts = { disk: factsOf('disk'), link: factsOf('link') }

const literals = [
  '1',
  '1u',
  '1.5',
  '1e9',
  '"x"',
  'true',
  'b"x"',
  'null',
  '[1u]',
  '["x"]',
  '{"x": 1}',
  '[]',
  'duration("1s")',
]
const comparisons = ['==', '!=', '<', '<=', '>', '>=']

/** Expressions about one value. */
const about = (value: string): string[] => [
  ...comparisons.flatMap((operator) =>
    literals.map((literal) => `${value} ${operator} ${literal}`),
  ),
  ...literals.flatMap((literal) => [
    `${literal} in ${value}`,
    `${value} in ${literal}`,
    `${value} in [${literal}]`,
    `${value} in [${literal}, ${literal}]`,
    `${value}[${literal}] == ${literal}`,
    ...['+', '-', '*', '/', '%'].map((operator) => `${value} ${operator} ${literal} == ${literal}`),
    `(true ? ${value} : ${literal}) == ${literal}`,
    `dyn(${value}) == ${literal}`,
  ]),
  ...[
    'int',
    'uint',
    'double',
    'string',
    'bytes',
    'bool',
    'duration',
    'timestamp',
    'type',
    'size',
  ].flatMap((name) => [
    `${name}(${value}) == ${name}(${value})`,
    `${name}(${value}) == 1`,
    `${name}(${value})`,
  ]),
  ...['string', 'int', 'uint', 'list', 'bytes', 'null_type', 'bool'].map(
    (type) => `type(${value}) == ${type}`,
  ),
  ...['startsWith', 'endsWith', 'contains', 'matches', 'glob', 'indexOf'].flatMap((name) => [
    `${value}.${name}("x")`,
    `${value}.${name}(1)`,
    `${name}("x*", ${value})`,
  ]),
  ...['size', 'lowerAscii', 'upperAscii', 'trim', 'hex', 'string', 'getSeconds'].map(
    (name) => `${value}.${name}() == ${value}.${name}()`,
  ),
  ...['all', 'exists', 'exists_one', 'filter', 'map'].flatMap((name) => [
    `${value}.${name}(one, one == "x")`,
    `size(${value}.${name}(one, one == "x")) == 1`,
    `${value}.${name}(one, one)`,
    `${value}.${name}(1, true)`,
  ]),
  `${value}.map(one, one.startsWith("e"), one + "x") == ["x"]`,
  `mac(${value}) == "ec:c0:a5:00:1a:ab"`,
  `mac(${value}).startsWith("ec:c0")`,
  value,
  `!${value}`,
  `!(${value})`,
  `-${value} == 1`,
  `-${value} < 0.5`,
  `${value} && true`,
  `${value} || false`,
  `${value} ? true : false`,
  `${value} ? 1 : 2`,
  `${value} == ${value}`,
  `${value} < ${value}`,
  `${value} + ${value} == ${value}`,
  `[${value}, ${value}] == [${value}]`,
  `[${value}, "x"].size() == 2`,
  `{"a": ${value}}.a == ${value}`,
  `${value}.x == 1`,
  `has(${value})`,
  `has(${value}.x)`,
  `${value}.?x == 1`,
]

/** What is asked about a field of a message within a message. */
const aboutInner = (value: string): string[] => [
  ...literals.flatMap((literal) => [`${value} == ${literal}`, `${value} > ${literal}`]),
  value,
  `${value}.x == 1`,
  `has(${value})`,
  `${value}.exists(one, one == "x")`,
]

/** Cases of the fields of a variable, and of the messages below it. */
function ofFields(scope: CelScope, variable: string, message: string, depth = 0): ExpressionCase[] {
  return Object.entries(newestMessages[message]!).flatMap(([field, type]) => {
    const path = `${variable}.${field}`
    const list = depth === 0 ? about(path) : aboutInner(path)
    const below =
      newestMessages[type] === undefined || depth === 2
        ? []
        : ofFields(scope, path, type, depth + 1)
    return [{ scope, about: path, list }, ...below]
  })
}

/** Fields that don't exist, and names that stand alone. */
const unknown = (variable: string, names: string): string[] =>
  names
    .split(' ')
    .flatMap((name) => [
      `${variable}.${name} == "x"`,
      `${variable}.${name} == 1u`,
      `${name} == "x"`,
      `${name} == 1500`,
      `has(${variable}.${name})`,
      `${variable}["${name}"] == "x"`,
    ])

const disks = [
  'disk.size > 100u * GiB && !disk.rotational',
  'disk.size > 100 * GiB',
  'disk.size > 100u * GB',
  'disk.size > 1.5e9',
  'disk.size > 10u * TB',
  'disk.size >= 1u * TB && disk.size <= 3u * TB',
  'disk.size > 1000u * 1000u',
  'disk.size > uint(1000)',
  'disk.size > uint("1000")',
  'double(disk.size) > 1.5e9',
  'int(disk.size) > 100',
  'disk.size / GB == 2000u',
  'disk.size % 512u == 0u',
  'disk.size - 1u > GB',
  'disk.size > 0x10u',
  'disk.size > 0x10',
  'disk.size == 18446744073709551616u',
  'disk.size == 18446744073709551615u',
  'disk.sector_size == 9223372036854775808',
  'int(disk.size) > -9223372036854775808',
  'int(disk.size) > 9223372036854775808',
  'system_disk',
  '!system_disk',
  '!!system_disk',
  'system_disk == false',
  'system_disk == null',
  'system_disk && disk.size',
  'disk == null',
  'disk != null',
  'null == disk',
  'disk == disk',
  'disk',
  'disk < disk',
  'disk in [disk]',
  'type(disk) == string',
  'disk.transport == "nvme"',
  "disk.transport in ['nvme', 'sata']",
  'disk.transport in ["nvme", 1]',
  'disk.size in [1u, 2u]',
  'disk.size in [1, 2]',
  'disk.size in {1u: true}',
  'disk.model.matches("^WUS.*")',
  'disk.model.matches("(")',
  'matches(disk.model, "^WUS")',
  'glob("WUS*", disk.model)',
  'glob(disk.model, "WUS*")',
  'glob("WUS*")',
  'glob("WUS*", disk.size)',
  'disk.model.glob("WUS*")',
  'disk.symlinks.exists(link, link.startsWith("/dev/disk/by-id/wwn"))',
  'disk.symlinks.exists(disk, disk.startsWith("/dev"))',
  'disk.symlinks.exists_one(s, s == "x")',
  'disk.symlinks.existsOne(s, s == "x")',
  'disk.symlinks.all(s, s)',
  'disk.symlinks[0].startsWith("/dev")',
  'disk.symlinks[5] == "x"',
  'disk.symlinks[0u] == "x"',
  'disk.symlinks + ["x"] == ["x"]',
  'disk.symlinks + [1] == ["x"]',
  'size(disk.symlinks) > 0',
  'disk.symlinks.size() > 0u',
  'disk.symlinks == []',
  'disk.secondary_disks.map(d, "/dev/" + d) == ["/dev/sdb", "/dev/sdc"]',
  'disk.secondary_disks.filter(d, d == "sdb").size() == 1',
  'disk.secondary_disks.map(d, d == "sdb", d)',
  '"sdb" in disk.secondary_disks',
  '1 in disk.secondary_disks',
  'true',
  'false',
  '1',
  '"x"',
  'null',
  '1u == 1',
  '1 == 1.0',
  'dyn(1u) == 1',
  'dyn(true)',
  'dyn(true) == true',
  'true ? system_disk : disk.readonly',
  'true ? 1u > 0u : 1',
  'true ? dyn(1) : true',
  '[1, "a"][0] == 1',
  '[1, 2][0] == 1',
  '{}.a == 1',
  '[].all(x, x)',
  '[].exists(x, x == 1)',
  'has(disk.size)',
  'has(disk)',
  'has(disk.nothing)',
  'has(system_disk)',
  'has(1)',
  'size(disk) == 1',
  'size("abc") == 3',
  '"abc".size() == 3',
  '"a" + "b" == "ab"',
  '"a" + 1 == "a1"',
  '"a" < "b"',
  'b"a" < b"b"',
  'true < false',
  'null == null',
  'null < null',
  '[1] < [2]',
  '[1] == ["a"]',
  'disk.size > 100',
  '100 < disk.size',
  'disk.size >= -1',
  '-disk.size < 0',
  'disk.size > GiB * 100',
  'GiB',
  'GiB == 1073741824u',
  'kB == 1000u && KB == 1024u',
  'KiB == 1024u',
  'EB > PB && EiB > PiB',
  'link.mtu == 1500u',
  'volume.size > 1u',
  'volume_id == "x"',
  'disk.Size > 1u',
  'disk.devPath == "/dev/sda"',
  'disk.dev_path == "/dev/sda"',
  'disk["size"] > 1u',
  'disk.size > 1u &&',
  'disk.size >',
  '(disk.size > 1u',
  'disk.size > 1u)',
  'disk.size = 1u',
  'disk.size => 1u',
  'disk.size > 1U',
  'disk.size > 1_000u',
  'disk.size > 1u // a comment',
  'disk.size & 1u == 1u',
  'disk.size == 1u ? true',
  "disk.model == 'a\\\"b'",
  "disk.model == 'a\\qb'",
  'disk.model == r"a\\b"',
  'disk.model == """a"""',
  'not disk.rotational',
  'disk.rotational and disk.readonly',
  'if(disk.rotational, true, false)',
  'disk.rotational == "true"',
  'disk.rotational == 1',
  'string(disk.size) == "2000398934016"',
  'string(disk.rotational) == "true"',
  'timestamp("2026-01-01T00:00:00Z") < timestamp("2027-01-01T00:00:00Z")',
  'duration("1h") > duration("1m")',
  'duration("1h").getMinutes() == 60',
  'duration("x") > duration("1m")',
  'timestamp("2026-01-01T00:00:00Z").getFullYear() == 2026',
  'optional.of(1) == optional.of(1)',
  'disk.?size == 1u',
  'disk.size.value() == 1u',
  'math.greatest(1, 2) == 2',
  'disk.model.lowerAscii() == "x"',
  'disk.model.split(" ")[0] == "x"',
  'disk.model.replace("a", "b") == "x"',
  'cel.bind(x, 1, x == 1)',
  'type(disk.size) == uint',
  'type(type(1)) == type',
  'type(duration("1s")) == google.protobuf.Duration',
  'int',
  'int == int',
  'string == int',
  'for == 1',
  'disk.model == "x" || disk.nothing == 1',
  '1 / 0 == 1',
  'uint(-1) == 1u',
  'size("a",) == 1',
  '[1,].size() == 1',
  '.5 < 1.0',
  '1. < 2.0',
  '1u == 1u == true',
  'true == 1 < 2',
  '1 < 2 == true',
  '1 < 2 < true',
  '!1 == 2',
  '!-1 == 2',
  '- 1 == -1',
  '--1 == 1',
  '-(1) == -1',
  '2 + 3 * 4 == 14',
  '0X10u == 16u',
  '0x10u == 16u',
  '"\\400" == "x"',
  '"\\101" == "A"',
  '"\\u0041" == "A"',
  '"\\x41" == "A"',
  'b"\\x41" == b"A"',
  'rb"a" == b"a"',
  'br"a" == b"a"',
  'disk . size > 1u',
  'disk.size\n> 1u',
  'disk.size\f> 1u',
  '.disk.size > 1u',
  'google.protobuf.Duration{} == duration("0s")',
  '[?1] == [1]',
  '{?"a": 1} == {"a": 1}',
  '{"a": 1, "b": "c"}.a == 1',
  '{1: 1, "b": 2}.size() == 2',
  '{"a": 1}.b == 1',
  '1 in {1: 2}',
  '"a" in {1: 2}',
  'disk.`size` > 1u',
  'a.b.c == 1',
  'disk.in == 1',
  'talos.resource.definitions.block.DiskSpec == type(disk)',
  'type(disk) == talos.resource.definitions.block.DiskSpec',
  'list == type([])',
  'map == type({})',
  'bytes == type(b"a")',
  'null_type == type(null)',
  'double == type(1.0)',
  'duration == type(duration("1s"))',
  'dyn == type(1)',
  'int("x") == 1',
]

const links = [
  'link.driver == "mlx5_core"',
  'link.name == "eth0"',
  'link.speed == 1000',
  'link.speed_megabits == 25000',
  'link.speed_megabits >= 10000u',
  'link.speed_megabits > 1e4',
  'mtu == 1500',
  'link.mtu == 1500',
  'link.mtu == 1500u',
  'link.mtu >= 9000',
  'link.physical',
  'link.physical == true',
  'link.type == 1',
  'link.type == 1u',
  'link.type == "ether"',
  'link.link_state',
  'link.link_state == "up"',
  'link.operational_state == 6',
  'link.hardware_addr == "ec:c0:a5:00:1a:ab"',
  'link.hardware_addr == b"x"',
  'mac(link.hardware_addr) == "ec:c0:a5:00:1a:ab"',
  'mac(link.permanent_addr) == "EC:C0:A5:00:1A:AB"',
  'mac("x") == "x"',
  'mac(link.driver) == "x"',
  'mac(b"\\x01\\x02") == "01:02"',
  'glob("ec:c0:*", mac(link.permanent_addr))',
  'glob(mac(link.hardware_addr), "ec:c0:*")',
  'glob("00:1a:2b:*", link.hardware_addr)',
  '"enp129s0" in link.alt_names',
  'link.alt_names.exists(name, name.startsWith("enp"))',
  'link == null',
  'link.vlan == null',
  'link.vlan.vid == 5',
  'link.vlan.vid == 5u',
  'link.vlan.protocol == 1',
  'has(link.vlan)',
  'has(link.vlan.vid)',
  'has(link.vlan.nothing)',
  'link.bond_master.mode == 1',
  'link.bond_master.arpip_targets.size() == 0',
  'link.bond_master.arpip_targets[0].ip == b"x"',
  'link.bridge_master.stp.enabled',
  'link.wireguard.peers.all(p, p.persistent_keepalive_interval > duration("1s"))',
  'link.wireguard.peers.exists(p, p.allowed_ips.exists(a, a.prefix_length == 24))',
  'link.wireguard.peers.exists(p, p.port == 1)',
  'link.kind == ""',
  'link.kind == "physical"',
  'link.bus_path.startsWith("0000:81")',
  'link.pciid == "15B3:1017"',
  'link.busPath == "0000:81:00.0"',
  'link.driver in ["mlx5_core", "ixgbe"]',
  'link.mtu > 1u * KiB',
  'disk.size > 1u',
  'system_disk',
  'link.index == 3u && link.driver == "mlx5_core"',
  'link.index == 3 || link.driver == "mlx5_core"',
  'true',
  'link',
]

const members = [
  'volume_id == "r-lvmdata"',
  'volume_id == 1',
  'volume.partition_label.startsWith("r-lvm")',
  'disk.transport == "nvme" && disk.size > 100u * GiB',
  'system_disk',
  'glob("sd*", disk.dev_path)',
  'volume.name == "xfs" && disk.serial == "SERIAL123"',
  'volume.size > 1u * TB',
  'volume.size > 1',
  'volume == null',
  'volume == disk',
  'volume.nothing == 1',
]

const triggers = [
  'memory_full_avg10 > 12.0',
  'memory_full_avg10 > 12',
  'memory_full_avg10 > 12u',
  'multiply_qos_vectors(d_qos_memory_full_total, {System: 8.0, Podruntime: 4.0}) > 3000.0',
  'multiply_qos_vectors(d_qos_memory_full_total, {System: 8}) > 3000.0',
  'multiply_qos_vectors({System: 8.0}, {Burstable: 1.0}) > 1.0',
  'multiply_qos_vectors({}, {}) > 1.0',
  'time_since_trigger > duration("500ms")',
  'time_since_trigger > 5',
  'time_since_trigger.getSeconds() > 5',
  'time_since_trigger == null',
  'qos_memory_current[System] > 1.0',
  'qos_memory_current["System"] > 1.0',
  'qos_memory_current.System > 1.0',
  'qos_memory_current[?System].orValue(1.0) > 1.0',
  'qos_memory_current[?System].hasValue()',
  'qos_memory_current.?x.hasValue()',
  'optional.of(1) == optional.none()',
  'optional.of(1).orValue(2) == 1',
  'optional.of(1).orValue("x") == 1',
  'optional.of(1).optMap(x, x + 1).value() == 2',
  'optional.of(1).optMap(x, x + "a").value() == 2',
  'optional.of(1).optFlatMap(x, optional.of(x > 1)).value()',
  'optional.of(1).optFlatMap(x, x > 1).value()',
  '[1, 2].first().value() == 1',
  'System == 1',
  'Unknown == 1',
  'GiB > 1u',
  'disk.size > 1u',
  'true',
  '1.0',
]
const rankings = [
  'memory_max.hasValue() ? 0.0 : 1.0',
  'memory_max.hasValue() ? 0 : 1',
  'double(memory_current.orValue(0u))',
  'double(memory_current.orValue(0))',
  'double(memory_current)',
  '{Besteffort: 1.0, Burstable: 0.5}[class]',
  'memory_max.hasValue() ? 0.0 : {Besteffort: 1.0, Burstable: 0.5, Guaranteed: 0.0, Podruntime: 0.0, System: 0.0}[class] * double(memory_current.orValue(0u))',
  'path.startsWith("/kubepods") ? 1.0 : 0.0',
  'path == 1 ? 1.0 : 0.0',
  'class == System ? 1.0 : 0.0',
  'class == 1u ? 1.0 : 0.0',
  'memory_peak.value() > 1u ? 1.0 : 0.0',
  'memory_peak > 1u ? 1.0 : 0.0',
  'memory_peak == optional.none() ? 1.0 : 0.0',
  'memory_peak.or(memory_max).orValue(1u) > 1u ? 1.0 : 0.0',
  'memory_peak.or(1u) > 1u ? 1.0 : 0.0',
  '1.0',
  '1',
  'true',
]

/** All cases. Deterministic. */
export const expressionCases: readonly ExpressionCase[] = [
  ...ofFields('disk', 'disk', 'DiskSpec'),
  ...ofFields('link', 'link', 'LinkStatusSpec'),
  ...ofFields('volume', 'volume', 'DiscoveredVolumeSpec'),
  {
    scope: 'disk',
    about: 'disks',
    list: [...disks, ...unknown('disk', 'name path vendor speed id')],
  },
  {
    scope: 'link',
    about: 'links',
    list: [...links, ...unknown('link', 'name speed physical mac mtus state id alias_names up')],
  },
  { scope: 'volume', about: 'volumes', list: [...members, ...disks] },
  { scope: 'member volume', about: 'members', list: [...members, ...disks] },
  {
    scope: 'oom trigger',
    about: 'triggers',
    list: [
      ...triggers,
      ...[
        'memory_full_avg10',
        'qos_memory_current',
        'time_since_trigger',
        'optional.of(1u)',
      ].flatMap(about),
    ],
  },
  {
    scope: 'oom ranking',
    about: 'rankings',
    list: [
      ...rankings,
      ...['memory_max', 'class', 'path'].flatMap(about).map((one) => `(${one}) ? 1.0 : 0.0`),
    ],
  },
]

/** Key of a case: the digest of its content. */
export const expressionKey = ({ scope, list }: ExpressionCase): string =>
  createHash('sha256')
    .update(JSON.stringify([documents[scope].text, list, samples]))
    .digest('hex')
    .slice(0, 16)

/** The cases that a Talos version is asked. */
export const expressionsFor = (talosVersion: string): ExpressionCase[] =>
  expressionCases.filter(({ scope }) => {
    const { since } = documents[scope]
    return since === undefined || isSince(talosVersion, since)
  })

/** What the Go program is asked about an expression case. */
export const questionOf = (one: ExpressionCase) => ({
  id: expressionKey(one),
  document: `apiVersion: v1alpha1\n${documents[one.scope].text}\n`,
  of: one.scope === 'disk' || one.scope === 'link' ? one.scope : '',
  list: one.list,
})

/**
 * Our answers in the format of Talos's: `-` for an expression that isn't compiled, `+` for one that
 * is; for disks and links its value on the sample, `t` or `f`, or `e` if it can't be told.
 */
export const ourAnswers = ({ scope, list }: ExpressionCase, talosVersion: string): string =>
  list
    .map((expression) => {
      if (celProblem(expression, scope, talosVersion) !== undefined) return '-'
      if (scope !== 'disk' && scope !== 'link') return '+'
      const value = celSelects(expression, scope, facts[scope], { system_disk: false })
      return value === null ? 'e' : value ? 't' : 'f'
    })
    .join('')
