import { isCollection, isMap, isNode, isScalar, isSeq, stringify, type Node } from 'yaml'

type Path = readonly (string | number)[]

/** Keys of a map or indexes of a list with their values; a leaf is YAML on one line. */
type Tree = Map<string | number, Tree | string>

/**
 * Lists unknown keys as Talos does (siderolabs/gen: xyaml.CheckUnknownKeys): YAML with an indent of
 * four, with only the unknown keys and their parents, sorted. `nodeAt` returns the node at a path
 * of the document.
 */
export const unknownKeys = (paths: readonly Path[], nodeAt: (path: Path) => unknown): string => {
  const root: Tree = new Map()
  for (const path of paths.toSorted(byKeys)) {
    let at = root
    for (const key of path.slice(0, -1)) {
      const next = at.get(key)
      if (next instanceof Map) at = next
      else {
        const made: Tree = new Map()
        at.set(key, made)
        at = made
      }
    }
    const node = nodeAt(path)
    at.set(path.at(-1)!, isNode(node) ? treeOf(node) : 'null')
  }
  return written(root, '')
}

const byKeys = (a: Path, b: Path): number => {
  for (const [index, key] of a.entries()) {
    const other = b[index]
    if (other === undefined) return 1
    if (key !== other) return key < other ? -1 : 1
  }
  return -1
}

const treeOf = (node: Node): Tree | string => {
  if (isCollection(node) && !node.flow && node.items.length > 0) {
    const tree: Tree = new Map()
    if (isMap(node))
      for (const { key, value } of node.items)
        tree.set(
          isScalar(key) ? String(key.value) : inline(key),
          isNode(value) ? treeOf(value) : 'null',
        )
    if (isSeq(node))
      for (const [index, item] of node.items.entries())
        tree.set(index, isNode(item) ? treeOf(item) : 'null')
    return tree
  }
  return inline(node)
}

const inline = (value: unknown): string => {
  const text = stringify(value, { flowCollectionPadding: false, lineWidth: 0 }).trimEnd()
  return text.includes('\n') ? JSON.stringify(isScalar(value) ? value.value : text) : text
}

const written = (tree: Tree, indent: string): string =>
  [...tree]
    .map(([key, value]) => {
      if (typeof key === 'number')
        return `${indent}- ${typeof value === 'string' ? `${value}\n` : written(value, `${indent}  `).trimStart()}`
      return typeof value === 'string'
        ? `${indent}${key}: ${value}\n`
        : `${indent}${key}:\n${written(value, `${indent}    `)}`
    })
    .join('')
