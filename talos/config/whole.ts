/**
 * A whole configuration: read as Talos reads it, written as Talos writes it. Documents that the
 * model doesn't know are plain YAML values.
 */
import { type Document, isScalar, parseAllDocuments, stringify, visit } from 'yaml'
import { decodeDocuments, documentId } from './decode.ts'
import { emit } from './emit.ts'
import { encodeDocument } from './encode.ts'
import {
  ConfigError,
  type MapNode,
  readDocuments,
  textAt,
  TooMuch,
  type TreeNode,
  treeOf,
} from './tree.ts'

/** Whether a map has a key twice. The parser's own check compares each key with all others. */
function hasTwice(document: Document): boolean {
  let found = false
  visit(document, {
    Map(_, { items }) {
      const keys = new Set(items.map(({ key }) => (isScalar(key) ? key.value : key)))
      if (keys.size < items.length) found = true
      return found ? visit.BREAK : undefined
    },
  })
  return found
}

/**
 * The documents of a configuration. Accepts anchors and aliases, as Talos does, although
 * Steelyard's own configurations have none.
 */
export function rootsOf(text: string): MapNode[] {
  try {
    return readDocuments(text, 'compared')
  } catch (error) {
    if (!(error instanceof ConfigError) || error instanceof TooMuch) throw error
    const roots: MapNode[] = []
    for (const document of parseAllDocuments(text, { logLevel: 'silent', uniqueKeys: false })) {
      if (document.errors.length > 0 || hasTwice(document)) throw error
      let plain: unknown
      try {
        plain = document.toJS({ maxAliasCount: 100 })
      } catch {
        throw error
      }
      const root = treeOf(plain, 'compared')
      if (root.is === 'map') roots.push(root)
    }
    return roots
  }
}

export type Read = ReturnType<typeof readOne>

/** One document: as the model reads and writes it, or unchanged if the model doesn't know it. */
export function readOne(root: MapNode) {
  const { documents, problems } = decodeDocuments([root], {})
  const [document] = documents
  if (document !== undefined && problems.length === 0)
    return { id: documentId(document), root: encodeDocument(document), document }
  const kind = textAt(root, 'kind')
  const name = textAt(root, 'name')
  return {
    id: kind === undefined ? 'v1alpha1' : name === undefined ? kind : `${kind} ${name}`,
    root,
    document: null,
  }
}

/** The plain values of a tree, with sorted keys. */
export const plain = (node: TreeNode): unknown => {
  if (node.is === 'scalar') return node.value
  if (node.is === 'list') return node.items.map(plain)
  const keys = [...node.entries.keys()].toSorted()
  return Object.fromEntries(keys.map((key) => [key, plain(node.entries.get(key)!.value)]))
}

/** A document that the model doesn't know, as YAML with sorted keys. */
export const generic = (root: MapNode): string =>
  stringify(plain(root), { indent: 4, lineWidth: 0 })
/** The document in Talos's own form, with the places of its lines; none if the model doesn't know it. */
export const writtenWithPlaces = ({ root, document }: Read): ReturnType<typeof emit> => {
  if (document !== null) return emit([encodeDocument({ ...document, root })])
  const yaml = generic(root)
  const { line, column, source } = root
  return {
    yaml,
    places: yaml
      .split('\n')
      .slice(1)
      .map(() => ({ line, column, source })),
  }
}
/** The document in Talos's own form. */
export const written = (read: Read): string => writtenWithPlaces(read).yaml

/** The configuration with other documents. Documents that are added come last. */
export function changedBy(
  config: string,
  change: (roots: readonly MapNode[]) => readonly MapNode[],
): string {
  const all = rootsOf(config).map(readOne)
  return change(all.map(({ root }) => root))
    .map((root, i) => written(all[i] ? { ...all[i], root } : readOne(root)))
    .join('---\n')
}
