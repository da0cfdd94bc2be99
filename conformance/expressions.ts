/**
 * CEL expressions for which our checks and Talos's are compared: each field of what an expression
 * knows, with each operator and type of literal, and expressions written by hand. Expressions about
 * disks and links are evaluated on a sample as well.
 */
import { createHash } from 'node:crypto'
import { celProblem, celSelects, type CelFacts } from '#talos/config/cel.ts'
import { type CelScope, newestMessages } from '#talos/config/cel/environments.ts'
import { isSince, type Minor } from '#talos/versions.ts'
import { disks, links, members, rankings, triggers } from './written-expressions.ts'

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
/** The samples as facts. */
export const facts = { disk: factsOf('disk'), link: factsOf('link') }

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
