/**
 * Documents as Talos writes them: keys in the order of Talos's types, maps sorted, empty values
 * left out unless Talos always writes them.
 */
import { compareKeys } from './emit.ts'
import type { ConfigDocument } from './decode.ts'
import { goDuration } from './formats.ts'
import { type Contract, isSince } from '../versions.ts'
import type { ListShape, ObjectShape, Shape } from './model/shape.ts'
import type { Entry, MapNode, ScalarValue, TreeNode } from './tree.ts'

type Version = Contract | string | undefined

/** @param talosVersion whose form is written. Default: the newest offered minor */
export function encodeDocument(document: ConfigDocument, talosVersion?: Version): MapNode {
  return encodeObject(document.shape.shape, document.root, talosVersion)
}

const keepsEmpty = ({ keepEmpty }: ListShape, version: Version): boolean =>
  typeof keepEmpty === 'string' ? isSince(version, keepEmpty) : keepEmpty === true

function encodeObject(shape: ObjectShape, node: MapNode, version: Version): MapNode {
  const entries = new Map<string, Entry>()
  for (const [key, field] of Object.entries(shape.fields)) {
    const entry = node.entries.get(key)
    const value = entry === undefined ? undefined : encode(field, entry.value, version)
    if (value !== undefined) entries.set(key, { ...entry!, value })
    else if (field.always === true)
      entries.set(key, {
        line: 0,
        column: 0,
        source: node.source,
        value: zeroOf(field, node.source, version),
      })
  }
  return { ...node, entries }
}

/** The encoded value, or undefined if it is omitted. */
function encode(shape: Shape, node: TreeNode, version: Version): TreeNode | undefined {
  if (shape.is === 'free') return sorted(node)
  if (node.is === 'scalar' && node.value === null) return undefined
  switch (shape.is) {
    case 'text': {
      if (node.is !== 'scalar') return undefined
      const text = shape.zero === '0s' ? goDuration(String(node.value)) : String(node.value)
      return (text === '' && shape.optional !== true && shape.always !== true) ||
        (shape.zero === text && shape.always !== true)
        ? undefined
        : { ...node, value: text }
    }
    case 'integer':
      return node.is === 'scalar' &&
        (node.value !== 0n || shape.optional === true || shape.always === true)
        ? shape.octal === true
          ? { ...node, octal: true }
          : node
        : undefined
    case 'flag':
    case 'port':
      return node
    case 'argument':
      return node.is === 'list' && node.items.length === 0 ? undefined : node
    case 'list': {
      if (node.is !== 'list') return undefined
      if (node.items.length === 0 && shape.always !== true && !keepsEmpty(shape, version))
        return undefined
      return {
        ...node,
        items: node.items.map(
          (item) =>
            encode({ ...shape.of, always: true }, item, version) ??
            zeroOf(shape.of, item.source, version),
        ),
      }
    }
    case 'map': {
      if (node.is !== 'map' || (node.entries.size === 0 && shape.always !== true)) return undefined
      const keys = [...node.entries.keys()].toSorted(compareKeys)
      return {
        ...node,
        entries: new Map(
          keys.map((key) => [key, encodeEntry(shape.of, node.entries.get(key)!, version)]),
        ),
      }
    }
  }
  if (node.is !== 'map') return undefined
  const object = encodeObject(shape, node, version)
  return object.entries.size === 0 && shape.inPlace === true && shape.always !== true
    ? undefined
    : object
}

function encodeEntry(shape: Shape, entry: Entry, version: Version): Entry {
  return {
    ...entry,
    value:
      encode({ ...shape, always: true }, entry.value, version) ??
      zeroOf(shape, entry.source, version),
  }
}

/** Go's zero value. */
function zeroOf(shape: Shape, source: string, version: Version): TreeNode {
  const place = { line: 0, column: 0, source }
  const scalar = (value: ScalarValue): TreeNode => ({
    is: 'scalar',
    value,
    plain: undefined,
    ...place,
  })
  const map: MapNode = { is: 'map', entries: new Map(), ...place }
  if (shape.is === 'port') return scalar(0n)
  if (shape.is === 'text') return scalar(shape.zero ?? '')
  if (shape.is === 'argument') return scalar('')
  if (shape.is === 'integer') return { ...scalar(0n), ...(shape.octal === true && { octal: true }) }
  if (shape.is === 'list') return { is: 'list', items: [], ...place }
  if (shape.is === 'map' || shape.is === 'free') return map
  return shape.is === 'object' && shape.inPlace === true
    ? encodeObject(shape, map, version)
    : scalar(null)
}

/** Sorts the keys of free-form values: they are Go maps, which go-yaml writes in sorted order. */
function sorted(node: TreeNode): TreeNode {
  if (node.is === 'list') return { ...node, items: node.items.map(sorted) }
  if (node.is === 'scalar') return node
  const keys = [...node.entries.keys()].toSorted(compareKeys)
  return {
    ...node,
    entries: new Map(
      keys.map((key) => [
        key,
        { ...node.entries.get(key)!, value: sorted(node.entries.get(key)!.value) },
      ]),
    ),
  }
}
