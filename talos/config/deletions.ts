/**
 * Applies `$patch: delete` before the rest of a patch document is merged
 * (Talos `pkg/machinery/config/configloader/internal/decoder/{delete,selector}.go`).
 */
import {
  type ConfigDocument,
  documentId,
  type DecodeOptions,
  problemAt,
  recognisePart,
} from './decode.ts'
import type { Shape } from './model/shape.ts'
import {
  ConfigError,
  type ConfigProblem,
  type MapNode,
  type Place,
  textAt,
  type TreeNode,
} from './tree.ts'

export interface Deletion {
  document: Pick<ConfigDocument, 'shape' | 'name'>
  /** Keys from the document's root; empty for the whole document. */
  path: string[]
  /** In a list: selects the elements whose key has this value. */
  element?: { key: string; value: string }
  place: Place
}

/**
 * Splits a document of a patch into deletions and the rest, which is merged after the deletions.
 * `rest` is undefined if nothing else is left. Throws ConfigError for deletions that Talos refuses.
 */
export function takeDeletions(
  root: MapNode,
  options: DecodeOptions,
): { deletions: Deletion[]; rest: MapNode | undefined } {
  const found: Omit<Deletion, 'document'>[] = []
  const rest = strip(root, [], undefined, found)
  if (found.length === 0) return { deletions: [], rest: root }
  const problems: ConfigProblem[] = []
  const shape = recognisePart(root, options, problems)
  if (shape === undefined) throw new ConfigError(problems)
  const document = { shape, name: shape.named ? (textAt(root, 'name') ?? '') : '' }
  const empty =
    rest === undefined ||
    (rest.is === 'map' &&
      [...rest.entries.keys()].every((key) =>
        ['version', 'apiVersion', 'kind', 'name'].includes(key),
      ))
  return {
    deletions: found.map((deletion) => Object.assign(deletion, { document })),
    rest: empty ? undefined : (rest as MapNode),
  }
}

/** The tree without deletions; undefined if nothing is left. */
function strip(
  node: TreeNode,
  path: string[],
  inList: MapNode | undefined,
  found: Omit<Deletion, 'document'>[],
): TreeNode | undefined {
  if (node.is === 'scalar') return node
  if (node.is === 'list') {
    const items = node.items.map((item, i) =>
      strip(item, [...path, `[${i}]`], item.is === 'map' ? item : undefined, found),
    )
    const left = items.filter((item) => item !== undefined)
    return left.length === 0 && items.length > 0 ? undefined : { ...node, items: left }
  }
  const mark = node.entries.get('$patch')
  if (mark !== undefined && mark.value.is === 'scalar' && mark.value.value === 'delete') {
    if (inList === undefined && path.some((key) => key.startsWith('['))) {
      throw new ConfigError([
        problemAt(
          mark,
          `${path.join('.')}: a key inside a list’s element can’t be deleted`,
          path.join('.'),
        ),
      ])
    }
    if (inList === undefined) {
      found.push({ path, place: mark })
      return undefined
    }
    const selector = [...node.entries].find(([key]) => key !== '$patch')
    if (selector === undefined || selector[1].value.is !== 'scalar') {
      throw new ConfigError([
        problemAt(mark, `${path.join('.')}: say which element by one of its keys`, path.join('.')),
      ])
    }
    const { value } = selector[1]
    found.push({
      path: path.slice(0, -1),
      element: { key: selector[0], value: value.plain ?? String(value.value) },
      place: mark,
    })
    return undefined
  }
  if (mark !== undefined)
    throw new ConfigError([
      problemAt(
        mark,
        'Talos knows $patch: delete only. A patch adds to a list; to replace the list, delete it in one patch and set it in a later one',
        [...path, '$patch'].join('.'),
      ),
    ])
  const entries: MapNode['entries'] = new Map()
  let removed = false
  for (const [key, entry] of node.entries) {
    const value = strip(entry.value, [...path, key], undefined, found)
    if (value === undefined) removed = true
    else entries.set(key, { ...entry, value })
  }
  return removed && entries.size === 0 ? undefined : { ...node, entries }
}

/**
 * Applies deletions to a configuration. Changes `documents`. Throws ConfigError if there is nothing
 * to delete.
 * @param ignoreMissing whether a deletion from a document that isn't there changes nothing
 */
export function applyDeletions(
  documents: ConfigDocument[],
  deletions: readonly Deletion[],
  ignoreMissing: boolean,
): void {
  for (const { document, path, element, place } of deletions) {
    const id = documentId(document)
    const target = documents.find((d) => documentId(d) === id)
    const fail = (message: string) => {
      throw new ConfigError([problemAt(place, message, path.join('.'))])
    }
    if (target === undefined && ignoreMissing) continue
    if (target === undefined) return fail(`There is no ${id} to delete from`)
    if (path.length === 0) {
      if (document.shape.kind === '') return fail('The machine’s main document can’t be deleted')
      documents.splice(documents.indexOf(target), 1)
      continue
    }
    if (!remove(target.shape.shape, target.root, path, element)) {
      const what =
        element === undefined
          ? path.join('.')
          : `${path.join('.')} with ${element.key}: ${element.value}`
      fail(`There is no ${what} to delete`)
    }
  }
}

/** Removes the value at a path; false if it doesn't exist. */
function remove(
  shape: Shape,
  node: TreeNode,
  path: readonly string[],
  element: Deletion['element'],
): boolean {
  const [key, ...more] = path
  if (key === undefined) {
    if (element === undefined || node.is !== 'list') return false
    const index = node.items.findIndex((item) => {
      const value = item.is === 'map' ? item.entries.get(element.key)?.value : undefined
      return value?.is === 'scalar' && String(value.value ?? '') === element.value
    })
    if (index < 0) return false
    node.items.splice(index, 1)
    return true
  }
  if (node.is !== 'map') return false
  const entry = node.entries.get(key)
  const field = shape.is === 'object' ? shape.fields[key] : shape.is === 'map' ? shape.of : shape
  if (field === undefined) return false
  if (more.length === 0 && element === undefined) {
    // Deleting a field that isn't set is allowed, because Talos sets the field to its zero value. A
    // key of a map has to exist.
    if (entry === undefined) return shape.is === 'object'
    return node.entries.delete(key)
  }
  return entry !== undefined && remove(field, entry.value, more, element)
}
