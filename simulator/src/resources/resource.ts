import { create, toBinary, type DescMessage, type MessageInitShape } from '@bufbuild/protobuf'
import { isObject, text } from '../config/shape.ts'
import { DEFINITIONS, type Definition } from './definitions.ts'
import type { Machine } from '../machine/machine.ts'

/** A resource with its specification as protobuf and as YAML, like Talos's. */
export interface Item {
  id: string
  proto: () => Uint8Array
  yaml: () => string
  /** Default: counted from 1 at each change of the YAML. */
  version?: number
  /** Wall-clock time of the last change, in ms. Default: when the change was first read. */
  updatedAt?: number
}

/** A type of resource, and a function that lists a machine's resources of this type. */
export interface Kind extends Definition {
  list: (machine: Machine) => Item[]
}

/**
 * A type of Talos's resources, with the function that lists a machine's resources. Throws if Talos
 * doesn't define the type.
 */
export const kind = (type: string, list: (machine: Machine) => Item[]): Kind => {
  const definition = DEFINITIONS.get(type)
  if (!definition) throw new Error(`Talos has no resources of the type ${type}`)
  return { ...definition, list }
}

/**
 * A resource with this specification. Its YAML is derived from the protobuf; `yaml` contains the
 * fields that differ (undefined omits a field), or is a function that changes the derived YAML.
 * Both forms are created only when a client reads the resource.
 */
export const item = <Desc extends DescMessage>(
  id: string,
  schema: Desc,
  init: MessageInitShape<Desc>,
  yaml: object | ((spec: object) => object) = {},
): Item => ({
  id,
  proto: () => toBinary(schema, create(schema, init)),
  yaml: () =>
    yamlOf(
      typeof yaml === 'function'
        ? yaml(plain(init) as object)
        : { ...(plain(init) as object), ...yaml },
    ),
})

/** Fields whose name in Talos's YAML differs from the name in the protobuf. */
const YAML_NAMES: Readonly<Record<string, string>> = {
  aggregatorCa: 'aggregatorCA',
  bootId: 'bootID',
  bootSpeed: 'bootSpeedMhz',
  bootedWithUki: 'bootedWithUKI',
  bootstrapTokenId: 'bootstrapTokenID',
  certSaNs: 'certSANs',
  certSandnsNames: 'certSANDNSNames',
  certSaniPs: 'certSANIPs',
  coreDnsEnabled: 'coreDNSEnabled',
  diskId: 'diskID',
  issuingCa: 'issuingCA',
  pciid: 'pciID',
  productId: 'productID',
  vendorId: 'vendorID',
  maxLv: 'maxLV',
  maxPv: 'maxPV',
  maxSpeed: 'maxSpeedMhz',
  missingPvCount: 'missingPVCount',
  resourceType: 'type',
  sizePercentVg: 'sizePercentVG',
  speedMegabits: 'speedMbit',
}

/**
 * A message in the form of Talos's YAML: addresses and URLs as text, hardware addresses in
 * hexadecimal, other bytes in base64.
 */
const plain = (value: unknown): unknown => {
  if (typeof value === 'bigint') return Number(value)
  if (value instanceof Uint8Array) {
    const bytes = Buffer.from(value)
    return bytes.length === 6
      ? bytes.toString('hex').replaceAll(/..(?=.)/g, '$&:')
      : bytes.toString('base64')
  }
  if (Array.isArray(value)) return value.map(plain)
  if (!isObject(value)) return value
  if (value.ip instanceof Uint8Array)
    return `${value.ip.join('.')}${'prefixLength' in value ? `/${text(value.prefixLength)}` : ''}`
  if ('fullPath' in value) return value.fullPath
  const made: Record<string, unknown> = {}
  for (const key of Object.keys(value)) made[YAML_NAMES[key] ?? key] = plain(value[key])
  return made
}

const snakeNames: Record<string, string> = {}
const snakeName = (key: string): string =>
  (snakeNames[key] ??= key.replaceAll(/[A-Z]+/g, (letters) => `_${letters.toLowerCase()}`))
/** A specification with the names of its protobuf, as Talos's YAML of disks has them. */
export const snakeCased = (spec: object): object =>
  Object.fromEntries(Object.entries(spec).map(([key, value]) => [snakeName(key), value]))

/** IPv4 text as its four bytes. */
export const ipBytes = (address: string): Uint8Array =>
  Uint8Array.from(address.split('.').map(Number))
export const macBytes = (mac: string): Uint8Array =>
  Uint8Array.from(mac.split(':').map((part) => Number.parseInt(part, 16)))

/** A size as Talos prints it: units are powers of ten, with at most two decimals. */
export const prettySize = (bytes: number): string => {
  const units = ['B', 'kB', 'MB', 'GB', 'TB', 'PB']
  let value = bytes
  let unit = 0
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000
    unit++
  }
  return `${value >= 10 ? value.toFixed(0) : value.toFixed(1)} ${units[unit]}`
}

/**
 * Writes a specification as YAML in block style. One read can need hundreds of them, so this
 * function supports only plain values, lists and maps, and is ten times as fast as a YAML library.
 */
export const yamlOf = (value: unknown, indent = ''): string => {
  if (Array.isArray(value))
    return value.length === 0
      ? `${indent}[]\n`
      : value.map((item) => entry(`${indent}-`, item, `${indent}  `)).join('')
  if (!isObject(value)) return `${indent}${scalar(value)}\n`
  let lines = ''
  for (const key of Object.keys(value))
    if (value[key] !== undefined)
      lines += entry(`${indent}${scalar(key)}:`, value[key], `${indent}  `)
  return lines === '' ? `${indent}{}\n` : lines
}

const entry = (head: string, value: unknown, indent: string): string => {
  if (typeof value !== 'object' || value === null) return `${head} ${scalar(value)}\n`
  if (Object.keys(value).length === 0) return `${head} ${Array.isArray(value) ? '[]' : '{}'}\n`
  return head.endsWith('-')
    ? `${head} ${yamlOf(value, indent).slice(indent.length)}`
    : `${head}\n${yamlOf(value, indent)}`
}

/** Unambiguous text is plain. Other text is quoted as JSON, which is valid YAML 1.2. */
const PLAIN = /^[A-Za-z/(][A-Za-z0-9_./@()+=$-]*(?:[ :,][A-Za-z0-9_./@()+=$-]+)*$/
const WORDS = /^(?:true|false|null|yes|no|on|off|y|n)$/i

const scalar = (value: unknown): string => {
  if (typeof value === 'string')
    return PLAIN.test(value) && !WORDS.test(value) ? value : JSON.stringify(value)
  return value === null || value === undefined
    ? 'null'
    : JSON.stringify(typeof value === 'bigint' ? Number(value) : value)
}
