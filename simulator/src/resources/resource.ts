import { create, toBinary, type DescMessage, type MessageInitShape } from '@bufbuild/protobuf'
import { DEFINITIONS, type Definition } from './definitions.ts'
import { yamlOf } from './yaml.ts'
import type { Machine } from '../machine/machine.ts'

/** One resource as a machine shows it: its specification twice, as protobuf and as YAML, as Talos does. */
export interface Item {
  id: string
  proto: () => Uint8Array
  yaml: () => string
  labels?: Record<string, string>
}

/** A type of resource, and which there are of it. */
export interface Kind extends Definition {
  list: (machine: Machine) => Item[]
}

/** The resources of a type that Talos defines. */
export const kind = (type: string, list: (machine: Machine) => Item[]): Kind => {
  const definition = DEFINITIONS.get(type)
  if (!definition) throw new Error(`Talos has no resources of the type ${type}`)
  return { ...definition, list }
}

/** `yaml` is given where Talos's YAML differs from the protobuf in names or forms; otherwise the two say the same. Both are made only when somebody reads the resource. */
export const item = <Desc extends DescMessage>(
  id: string,
  schema: Desc,
  init: MessageInitShape<Desc>,
  yaml?: object,
  labels?: Record<string, string>,
): Item => ({
  id,
  proto: () => toBinary(schema, create(schema, init)),
  yaml: () => yamlOf(yaml ?? plain(init)),
  ...(labels && { labels }),
})

const plain = (value: unknown): unknown => {
  if (typeof value === 'bigint') return Number(value)
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64')
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, plain(inner)]))
}

/** IPv4 text as its four bytes. */
export const ipBytes = (address: string): Uint8Array => Uint8Array.from(address.split('.').map(Number))
export const macBytes = (mac: string): Uint8Array => Uint8Array.from(mac.split(':').map((part) => Number.parseInt(part, 16)))

/** Sizes the way Talos prints them: powers of ten, two digits at most after the point. */
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
