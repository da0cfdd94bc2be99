/** Where a user's text sets a path of a merged configuration. */
import {
  ConfigError,
  join,
  type MapNode,
  type Place,
  readDocuments,
  type TreeNode,
} from './tree.ts'

/** How much of the path the text sets, in characters, with the place of the last key. */
interface Reach {
  readonly length: number
  readonly place: Pick<Place, 'line' | 'column'>
}

/**
 * Keys may have dots, so the path is compared as a whole. A list of the merged configuration may
 * have more items than the text, so an index only leads to the list.
 */
function reachOf(node: TreeNode, path: string, here: string, best: Reach | null): Reach | null {
  const longer = (next: string, place: Pick<Place, 'line' | 'column'>): Reach | null =>
    next.length > (best?.length ?? 0) && (path === next || path.startsWith(`${next}.`))
      ? { length: next.length, place: { line: place.line, column: place.column } }
      : null
  let found = best
  if (node.is === 'map')
    for (const [key, entry] of node.entries) {
      const next = join(here, key)
      const reach = longer(next, entry)
      if (reach) found = reachOf(entry.value, path, next, reach)
    }
  if (node.is === 'list')
    for (const [i, item] of node.items.entries()) {
      const next = join(here, String(i))
      const reach = longer(next, item)
      if (reach) found = reachOf(item, path, next, reach)
    }
  return found
}

const kindOf = (root: MapNode): string => {
  const kind = root.entries.get('kind')?.value
  return kind?.is === 'scalar' ? String(kind.value) : ''
}

/**
 * The place in a text of the key at a path, or of the nearest key above it; null if the text sets
 * nothing of it. `kind`: the kind of the document, '' for the main one.
 */
export function placeIn(
  body: string,
  path: string,
  kind?: string,
): (Reach['place'] & { isWhole: boolean }) | null {
  let roots: MapNode[]
  try {
    roots = readDocuments(body, 'patch')
  } catch (error) {
    if (error instanceof ConfigError) return null
    throw error
  }
  let best: Reach | null = null
  for (const root of roots)
    if (kind === undefined || kindOf(root) === kind) best = reachOf(root, path, '', best)
  return best && { ...best.place, isWhole: best.length === path.length }
}

/** A document of a text by its kind and name. */
export interface DocumentName {
  readonly kind: string
  /** Empty for kinds that a configuration has once. */
  readonly name: string
}

/** The document that a line of an encoded configuration belongs to; null for the main one. */
export function documentAt(yaml: string, line: number): DocumentName | null {
  const lines = yaml.split('\n')
  const from = lines.lastIndexOf('---', line - 1) + 1
  const to = lines.indexOf('---', Math.max(from, line))
  const own = lines.slice(from, to === -1 ? undefined : to)
  const fieldOf = (key: string): string =>
    own.find((one) => one.startsWith(`${key}: `))?.slice(key.length + 2) ?? ''
  const kind = fieldOf('kind')
  return kind === '' ? null : { kind, name: fieldOf('name').replaceAll(/^["']|["']$/g, '') }
}

/** Where a document of a text begins; null if the text doesn't have it. */
export function placeOfDocument(
  body: string,
  { kind, name }: DocumentName,
): Pick<Place, 'line' | 'column'> | null {
  let roots: MapNode[]
  try {
    roots = readDocuments(body, 'patch')
  } catch (error) {
    if (error instanceof ConfigError) return null
    throw error
  }
  const own = roots.find((root) => {
    const named = root.entries.get('name')?.value
    return (
      kindOf(root) === kind &&
      (name === '' ||
        named === undefined ||
        (named.is === 'scalar' && String(named.value) === name))
    )
  })
  return own ? { line: own.line, column: own.column } : null
}
