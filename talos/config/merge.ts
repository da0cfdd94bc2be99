/**
 * Applies patches to a configuration, as `talosctl machineconfig patch` does, and reports for each
 * line of the result which layer it came from.
 */
import { type Contract, isSince } from '../versions.ts'
import {
  type ConfigDocument,
  decodeDocuments,
  duplicates,
  loadDocuments,
  documentId,
  problemAt,
} from './decode.ts'
import { applyDeletions, takeDeletions } from './deletions.ts'
import { emit } from './emit.ts'
import { encodeDocument } from './encode.ts'
import { generatedLayer } from './generate.ts'
import {
  ConfigError,
  type ConfigProblem,
  type MapNode,
  readDocuments,
  at,
  clone,
  join,
  type ListNode,
  type Place,
  placedBy,
  type ScalarNode,
  textAt,
  type TreeNode,
} from './tree.ts'
import type { ListShape, Shape } from './model/shape.ts'

export interface Layer {
  name: string
  /** Strategic-merge YAML of one or several documents. */
  body: string
}

export type Merged = ReturnType<typeof mergePatches>

type Version = Contract | string | undefined

/**
 * Applies layers in order. Throws ConfigError for the first layer that can't be applied, with its
 * name and the positions of its problems. The rules are Talos's, each with its test in
 * `merge.test.ts` and `merge-lists.test.ts`.
 * @param options `talosVersion`: whose rules apply where minors differ. Default: the newest offered.
 * `places`: the layers of the base's lines, if layers were merged into it before
 */
export function mergePatches(
  base: string,
  layers: readonly Layer[],
  {
    talosVersion,
    places: before = [],
  }: { readonly talosVersion?: Version; readonly places?: readonly Place[] } = {},
) {
  const documents = loadDocuments(base, generatedLayer).map((one) =>
    before.length === 0 ? one : { ...one, root: placedBy(one.root, before) },
  )
  for (const { name, body } of layers) {
    try {
      applyLayer(documents, readDocuments(body, name), talosVersion)
    } catch (error) {
      throw error instanceof ConfigError ? new ConfigError(error.problems, name) : error
    }
  }
  const { yaml, places } = emit(
    documents.map((one) => encodeDocument(one, talosVersion)),
    talosVersion,
  )
  // Every line, from 1, with the name of its layer; the base's own lines are `generated`.
  // Each value of `documents` has the place in the text of its own layer.
  const sources = places.map(({ source }, i) => ({ line: i + 1, layer: source }))
  return { yaml, sources, places, documents }
}

/** Applies one patch. Changes `documents`. */
function applyLayer(
  documents: ConfigDocument[],
  roots: readonly MapNode[],
  version: Version,
): void {
  const since114 = isSince(version, '1.14')
  const parts = roots.map((root) => {
    const { deletions, rest } = takeDeletions(root, {})
    return { deletions, ...decodeDocuments(rest === undefined ? [] : [rest], {}) }
  })
  const problems: ConfigProblem[] = parts.flatMap((part) => part.problems)
  // Since 1.14 documents of one name are merged one after another.
  if (!since114) problems.push(...duplicates(parts.flatMap((part) => part.documents)))
  if (problems.length > 0) throw new ConfigError(problems)
  // Documents in order, and in each document deletions first, so that one document can delete a
  // value and add it again (Talos `configloader/internal/decoder/decoder.go`). Since 1.14 a
  // deletion from a document that isn't there is ignored, so that a patch for control planes and
  // workers can name a document that only control planes have (`configpatcher/strategic.go`).
  for (const part of parts) {
    applyDeletions(documents, part.deletions, since114)
    mergeDocuments(documents, part.documents, version)
  }
  const conflicts = duplicates(documents)
  if (conflicts.length > 0) throw new ConfigError(conflicts)
}

/**
 * Merges a patch's documents into a configuration's, as Talos does it (Talos
 * `pkg/machinery/config/merge/merge.go` and `configpatcher/strategic.go`): two documents with the
 * same identity are merged field by field, by the rule for the field. A document that `left` lacks
 * is appended. Changes `left`.
 */
function mergeDocuments(
  left: ConfigDocument[],
  right: readonly ConfigDocument[],
  version: Version,
): void {
  for (const patch of right) {
    const existing = left.find((document) => documentId(document) === documentId(patch))
    if (existing === undefined) left.push({ ...patch, root: clone(patch.root) })
    else {
      const context = { path: '', version }
      existing.root = merge(existing.shape.shape, existing.root, patch.root, context) as MapNode
    }
  }
}

interface Context {
  readonly path: string
  readonly version: Version
}
const below = ({ path, version }: Context, key: string): Context => ({
  path: join(path, key),
  version,
})

function merge(
  shape: Shape,
  left: TreeNode | undefined,
  right: TreeNode,
  context: Context,
): TreeNode {
  // Null changes nothing: a patch can't unset a value with null.
  if (isNull(right)) return left ?? right
  if (left === undefined || isNull(left)) return clone(right)
  switch (shape.is) {
    case 'text':
    case 'integer':
      return isZero(shape, right) ? left : clone(right)
    case 'flag':
    case 'argument':
    case 'port':
      return clone(right)
    case 'free':
      // An empty value is Go's zero value, which replaces nothing.
      if (shape.replace === true)
        return right.is === 'map' && right.entries.size === 0 ? left : clone(right)
      return mergeFree(left, right, context.path)
    case 'list':
      return mergeList(shape, left as ListNode, right as ListNode, context)
    case 'map':
      return mergeMap(left as MapNode, right as MapNode, (l, r, key) =>
        shape.replaceValues === true ? clone(r) : merge(shape.of, l, r, below(context, key)),
      )
  }
  return mergeMap(left as MapNode, right as MapNode, (l, r, key) =>
    merge(shape.fields[key]!, l, r, below(context, key)),
  )
}

function mergeMap(
  left: MapNode,
  right: MapNode,
  each: (left: TreeNode | undefined, right: TreeNode, key: string) => TreeNode,
): MapNode {
  const entries = new Map(left.entries)
  for (const [key, entry] of right.entries) {
    const existing = entries.get(key)
    const value = each(existing?.value, entry.value, key)
    entries.set(key, { ...(existing ?? entry), value })
  }
  return { ...left, entries }
}

function mergeList(shape: ListShape, left: ListNode, right: ListNode, context: Context): ListNode {
  const { replacedSince } = shape
  if (
    shape.merge === 'replace' ||
    (replacedSince !== undefined && isSince(context.version, replacedSince))
  )
    return clone(right) as ListNode
  if (shape.merge === undefined)
    return { ...left, items: [...left.items, ...right.items.map((item) => clone(item))] }
  const { by, whole } = shape.merge
  if (whole === true) return replaceElements(by[0]!, left, right)
  const items = [...left.items]
  right.items.forEach((item, i) => {
    // An element is identified by the first of these keys that it has. An element with none of
    // these keys is always appended.
    const key = by.find((k) => !isNull(at(item, k)))
    const wanted = key === undefined ? undefined : fingerprint(at(item, key)!)
    const found =
      wanted === undefined
        ? -1
        : items.findIndex(
            (other) => !isNull(at(other, key!)) && fingerprint(at(other, key!)!) === wanted,
          )
    if (found < 0) items.push(clone(item))
    else items[found] = merge(shape.of, items[found], item, below(context, String(i)))
  })
  return { ...left, items }
}

/**
 * Each element of `right` replaces the last one of `left` with the same value of the key, or is
 * appended. Two elements of `right` with the same value are both kept, as Talos does it
 * (`config/types/security/image_verification.go`).
 */
function replaceElements(key: string, left: ListNode, right: ListNode): ListNode {
  const valueOf = (item: TreeNode): string => textAt(item, key) ?? ''
  const known = new Map(left.items.map((item, i) => [valueOf(item), i]))
  const items = [...left.items]
  for (const item of right.items) {
    const at = known.get(valueOf(item))
    if (at === undefined) items.push(clone(item))
    else items[at] = clone(item)
  }
  return { ...left, items }
}

/** Merges free-form values by kind. Values of different kinds are refused. */
function mergeFree(left: TreeNode, right: TreeNode, path: string): TreeNode {
  if (left.is === 'map' && right.is === 'map') {
    return mergeMap(left, right, (l, r, key) =>
      l === undefined || isNull(l) ? clone(r) : isNull(r) ? l : mergeFree(l, r, join(path, key)),
    )
  }
  if (left.is === 'list' && right.is === 'list')
    return { ...left, items: [...left.items, ...right.items.map((item) => clone(item))] }
  if (left.is === 'scalar' && right.is === 'scalar' && scalarType(left) === scalarType(right)) {
    const zero = right.value === '' || right.value === 0 || right.value === 0n
    return zero ? left : clone(right)
  }
  throw new ConfigError([problemAt(right, `${path} is of another type in the configuration`, path)])
}

function isNull(node: TreeNode | undefined): boolean {
  return node === undefined || (node.is === 'scalar' && node.value === null)
}

/**
 * Whether a value is Go's zero value of a field that isn't a pointer. Such a value can't replace
 * another one.
 */
function isZero(shape: Shape, node: TreeNode): boolean {
  if (node.is !== 'scalar') return false
  if (shape.is === 'text')
    return (
      (node.value === '' && shape.optional !== true) ||
      (shape.zero !== undefined && node.value === shape.zero)
    )
  return shape.is === 'integer' && node.value === 0n && shape.optional !== true
}

function scalarType(node: ScalarNode): string {
  return typeof node.value
}

/** Two values are equal if their fingerprints are equal. */
function fingerprint(node: TreeNode): string {
  if (node.is === 'scalar') return `${typeof node.value}:${String(node.value)}`
  if (node.is === 'list') return `[${node.items.map(fingerprint).join(',')}]`
  const keys = [...node.entries.keys()]
    .filter((key) => !isNull(node.entries.get(key)!.value))
    .toSorted()
  return `{${keys.map((key) => `${JSON.stringify(key)}:${fingerprint(node.entries.get(key)!.value)}`).join(',')}}`
}
