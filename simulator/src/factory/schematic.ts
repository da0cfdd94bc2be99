import { createHash } from 'node:crypto'
import { isMap, isScalar, isSeq, parseDocument, type Node } from 'yaml'
import { isObject, text } from '../config/shape.ts'

/** Bad input: the factory answers 400. */
export class Invalid extends Error {
  override name = 'Invalid'
}

/** A stored schematic: its canonical text and its hash. */
export interface Schematic {
  id: string
  text: string
  extensions: string[]
  extraKernelArgs: string[]
  /** Documents in the image; empty without. */
  embedded: string
}

type Kind = 'text' | 'flag' | 'byte' | 'number' | 'texts' | 'any' | Field[]
interface Field {
  key: string
  kind: Kind
  list?: true
  /** The field is written even if it is empty. */
  always?: true
  /** The field's Go type in the factory. The factory's error about unknown fields contains it. */
  type?: string
}

/**
 * Fields in the factory's order (image-factory: pkg/schematic/schematic.go). Deliberately
 * independent of the code in `talos/schematic`, so that tests notice a mistake in either of them.
 */
const SCHEMATIC: Field[] = [
  { key: 'owner', kind: 'text' },
  {
    key: 'overlay',
    type: 'Overlay',
    kind: [
      { key: 'image', kind: 'text', always: true },
      { key: 'name', kind: 'text', always: true },
      { key: 'options', kind: 'any' },
    ],
  },
  {
    key: 'customization',
    type: 'Customization',
    always: true,
    kind: [
      { key: 'embeddedMachineConfiguration', kind: 'text' },
      { key: 'extraKernelArgs', kind: 'texts' },
      {
        key: 'meta',
        type: 'MetaValue',
        list: true,
        kind: [
          { key: 'key', kind: 'byte', always: true },
          { key: 'value', kind: 'text', always: true },
        ],
      },
      {
        key: 'systemExtensions',
        type: 'SystemExtensions',
        kind: [{ key: 'officialExtensions', kind: 'texts' }],
      },
      { key: 'bootloader', kind: 'text' },
      {
        key: 'secureboot',
        type: 'SecureBootCustomization',
        kind: [
          { key: 'enrollKeys', kind: 'text' },
          { key: 'includeWellKnownCertificates', kind: 'flag' },
        ],
      },
      {
        key: 'diskImage',
        type: 'DiskImageCustomization',
        kind: [{ key: 'sectorSize', kind: 'number' }],
      },
    ],
  },
]
const BOOTLOADERS = new Set(['none', 'dual-boot', 'sd-boot', 'grub'])

/**
 * Reads a schematic as the factory does, YAML or JSON, and writes its canonical form. Throws
 * `Invalid` with the factory's reason.
 */
export const readSchematic = (source: string): Schematic => {
  const document = parseDocument(source, { version: '1.2', uniqueKeys: true })
  const [error] = document.errors
  if (error) throw new Invalid(`yaml: ${error.message.split('\n')[0]}`)
  if (document.contents === null) throw new Invalid('EOF')
  const problems: string[] = []
  const at = (node: unknown): number =>
    source.slice(0, (node as Node).range?.[0] ?? 0).split('\n').length
  const value = object(document.contents, SCHEMATIC, 'Schematic', problems, at)
  if (problems.length > 0)
    throw new Invalid(
      `yaml: construct errors:\n${problems.map((problem) => `  ${problem}`).join('\n')}`,
    )
  if (value.owner !== undefined)
    throw new Invalid('owner field is only supported in Enterprise edition')
  const customization = isObject(value.customization) ? value.customization : {}
  const bootloader = text(customization.bootloader)
  if (bootloader !== '' && !BOOTLOADERS.has(bootloader))
    throw new Invalid(`${bootloader} does not belong to BootloaderKind values`)
  if (bootloader === 'none') delete customization.bootloader
  const canonical = write(value, SCHEMATIC, 0)
  return {
    id: createHash('sha256').update(canonical).digest('hex'),
    text: canonical,
    extensions: isObject(customization.systemExtensions)
      ? ((customization.systemExtensions.officialExtensions as string[] | undefined) ?? [])
      : [],
    extraKernelArgs: (customization.extraKernelArgs as string[] | undefined) ?? [],
    embedded: text(customization.embeddedMachineConfiguration),
  }
}

type Place = (node: unknown) => number
type Value = Record<string, unknown>

const object = (
  node: unknown,
  fields: Field[],
  type: string,
  problems: string[],
  at: Place,
): Value => {
  const value: Value = {}
  if (isScalar(node) && node.value === null) return value
  if (!isMap(node)) {
    problems.push(`line ${at(node)}: cannot construct ${tagOf(node)} into schematic.${type}`)
    return value
  }
  for (const { key, value: child } of node.items) {
    const name = isScalar(key) ? String(key.value) : ''
    const field = fields.find((candidate) => candidate.key === name)
    if (!field) problems.push(`line ${at(key)}: field ${name} not found in type schematic.${type}`)
    else if (child !== null && !(isScalar(child) && child.value === null))
      value[name] = one(child, field, problems, at)
  }
  // Go omits empty values.
  for (const { key, kind } of fields) if (isEmpty(value[key], kind)) delete value[key]
  return value
}

const isEmpty = (value: unknown, kind: Kind): boolean =>
  value === undefined ||
  value === '' ||
  value === 0 ||
  value === false ||
  (Array.isArray(value) && value.length === 0) ||
  (isObject(value) && (Array.isArray(kind) || kind === 'any') && Object.keys(value).length === 0)

const one = (node: unknown, field: Field, problems: string[], at: Place): unknown => {
  const wrong = (into: string): undefined =>
    void problems.push(`line ${at(node)}: cannot construct ${tagOf(node)} into ${into}`)
  const each = (into: string, act: (item: unknown) => unknown): unknown =>
    isSeq(node) ? node.items.map(act) : wrong(into)
  const { kind } = field
  if (Array.isArray(kind))
    return field.list
      ? each(`[]schematic.${field.type}`, (item) => object(item, kind, field.type!, problems, at))
      : object(node, kind, field.type!, problems, at)
  // Any scalar is accepted as text.
  const plain = (item: unknown): unknown =>
    isScalar(item)
      ? typeof item.value === 'string'
        ? item.value
        : (item.source ?? '')
      : wrong('string')
  if (kind === 'texts') return each('[]string', plain)
  if (kind === 'text') return plain(node)
  if (kind === 'any') return isMap(node) ? node.toJSON() : wrong('map[string]interface {}')
  const value = isScalar(node) ? node.value : undefined
  if (kind === 'flag') return typeof value === 'boolean' ? value : wrong('bool')
  const most = kind === 'byte' ? 255 : Number.MAX_SAFE_INTEGER
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= most
    ? value
    : wrong(kind === 'byte' ? 'uint8' : 'uint')
}

const tagOf = (node: unknown): string => {
  if (isMap(node)) return '!!map'
  if (isSeq(node)) return '!!seq'
  const value = isScalar(node) ? node.value : null
  const tag = typeof value === 'boolean' ? '!!bool' : typeof value === 'number' ? '!!int' : '!!str'
  return `${tag} \`${isScalar(node) ? String(node.source) : ''}\``
}

const STEP = 4
const pad = (depth: number): string => ' '.repeat(depth * STEP)

const write = (value: Value, fields: Field[], depth: number): string => {
  let written = ''
  for (const { key, kind, always } of fields) {
    const child = value[key]
    if (child === undefined) {
      if (always)
        written += `${pad(depth)}${key}: ${Array.isArray(kind) ? '{}' : kind === 'byte' ? '0' : '""'}\n`
    } else if (Array.isArray(kind) && Array.isArray(child)) {
      // The first key of an item is on the line of the dash.
      const items = child.map((item) =>
        write(item as Value, kind, 0)
          .trimEnd()
          .split('\n')
          .join(`\n${pad(depth + 1)}  `),
      )
      written += `${pad(depth)}${key}:\n${items.map((item) => `${pad(depth + 1)}- ${item}\n`).join('')}`
    } else if (Array.isArray(kind))
      written += `${pad(depth)}${key}:\n${write(child as Value, kind, depth + 1)}`
    else written += `${pad(depth)}${key}:${writeAny(child, depth)}`
  }
  return written
}

/** The text after a key's colon, including the line end. Keys of free maps are sorted. */
const writeAny = (value: unknown, depth: number): string => {
  if (Array.isArray(value)) {
    if (value.length === 0) return ' []\n'
    return `\n${value.map((item) => `${pad(depth + 1)}-${isObject(item) ? ` ${writeAny(item, depth + 1).trimStart()}` : writeAny(item, depth + 1)}`).join('')}`
  }
  if (!isObject(value))
    return ` ${typeof value === 'string' ? scalar(value, depth) : String(value)}\n`
  const keys = Object.keys(value).toSorted()
  return keys.length === 0
    ? ' {}\n'
    : `\n${keys.map((key) => `${pad(depth + 1)}${scalar(key, 0)}:${writeAny(value[key], depth + 1)}`).join('')}`
}

/**
 * A string as go-yaml writes it: plain if possible, in double quotes if plain text would have
 * another type, in single quotes if it contains YAML syntax.
 */
const scalar = (value: string, depth: number): string => {
  if (value.includes('\n') && !/[\t\r\0]/.test(value) && !/ \n| $/.test(value)) {
    const lines = value.replace(/\n$/, '').split('\n')
    return `|${/^[ \n]/.test(value) ? STEP : ''}${value.endsWith('\n\n') ? '+' : value.endsWith('\n') ? '' : '-'}\n${lines.map((line) => (line === '' ? '' : pad(depth + 1) + line)).join('\n')}`
  }
  if (/[^\x20-\x7e\u00a0-\ud7ff\ue000-\ufffd]/.test(value)) return JSON.stringify(value)
  if (isSomethingElse(value)) return JSON.stringify(value)
  const isPlain = !/^[#,[\]{}&*!|>'"%@`]|^[-?:](\s|$)|^\s|\s$|^---|^\.\.\.|:(\s|$)|\s#/.test(value)
  return isPlain ? value : `'${value.replaceAll("'", "''")}'`
}

/** Whether YAML 1.2 or 1.1 would read the plain text as another type. */
const isSomethingElse = (value: string): boolean =>
  value === '' ||
  // YAML's merge key (`<<`) has its own type.
  value === '<<' ||
  (['core', 'yaml-1.1'] as const).some((schema) => {
    const { contents, errors } = parseDocument(value, { schema })
    return errors.length === 0 && isScalar(contents) && typeof contents.value !== 'string'
  })
