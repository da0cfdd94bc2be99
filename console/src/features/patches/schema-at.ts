/**
 * Completion and hover of the patch editor from the JSON Schema. Works on lines instead of parsed
 * YAML, because the document is usually incomplete.
 */

export interface SchemaNode {
  $ref?: string
  $defs?: Record<string, SchemaNode>
  definitions?: Record<string, SchemaNode>
  type?: string | readonly string[]
  title?: string
  description?: string
  properties?: Record<string, SchemaNode>
  patternProperties?: Record<string, SchemaNode>
  additionalProperties?: boolean | SchemaNode
  items?: SchemaNode
  oneOf?: readonly SchemaNode[]
  anyOf?: readonly SchemaNode[]
  allOf?: readonly SchemaNode[]
  enum?: readonly unknown[]
  const?: unknown
  default?: unknown
  examples?: readonly unknown[]
}

/** A position: the path of keys (list items as `[]`) and the document's `kind`, if any. */
export interface Place {
  path: readonly string[]
  kind: string | null
  /** Other keys of the same mapping. */
  siblings: readonly string[]
  /** The cursor is after `key:`. */
  inValue: boolean
}

interface Line {
  indent: number
  /** Columns of the dashes before the key; each dash starts a list item. */
  dashes: readonly number[]
  key: string | null
}

function readLine(text: string): Line {
  const dashes: number[] = []
  let at = text.length - text.trimStart().length
  while (text.startsWith('- ', at) || text.slice(at) === '-') {
    dashes.push(at)
    at += 1
    at += text.slice(at).length - text.slice(at).trimStart().length
  }
  const key =
    /^(?:"([^"]*)"\s*|'([^']*)'\s*|([^\s#'"[{&*!|>-][^:#]*|-[^\s:#][^:#]*)):(?=\s|$)/.exec(
      text.slice(at),
    )
  return { indent: at, dashes, key: key ? (key[1] ?? key[2] ?? key[3] ?? '').trim() : null }
}

const blank = (line: string) => /^\s*(?:#.*)?$/.test(line)

/** The place at a line and column, both from 0. */
export function placeAt(lines: readonly string[], line: number, column: number): Place {
  let from = line
  while (from > 0 && !/^---(?:\s|$)/.test(lines[from - 1] ?? '')) from--
  let to = line
  while (to < lines.length && (to === line || !/^---(?:\s|$)/.test(lines[to] ?? ''))) to++
  const text = lines[line] ?? ''
  const here = readLine(text)
  const bare = blank(text)
  const indent = bare ? column : here.indent
  const path: string[] = []
  let limit = indent
  // YAML allows a list item's dash in the same column as the list's key, so look for that key in
  // the dash's column too.
  let dashed = !bare && here.dashes.length > 0
  if (!bare) for (const _ of here.dashes) path.unshift('[]')
  if (dashed) limit = (here.dashes[0] ?? 0) + 1
  for (let at = line - 1; at >= from && limit > 0; at--) {
    const above = lines[at] ?? ''
    if (blank(above) || above.startsWith('---')) continue
    const { indent: i, dashes, key } = readLine(above)
    const isParent = key !== null && i < limit && !(dashed && i === limit - 1 && dashes.length > 0)
    if (isParent) {
      path.unshift(key)
      for (const _ of dashes) path.unshift('[]')
      dashed = dashes.length > 0
      limit = dashed ? (dashes[0] ?? 0) + 1 : i
    } else if (!dashed && dashes.length > 0 && (dashes[0] ?? 0) < limit && i === limit) {
      // This earlier key of the same mapping started the list item, so its dash counts for all keys
      // of the item.
      for (const _ of dashes) path.unshift('[]')
      dashed = true
      limit = (dashes[0] ?? 0) + 1
    } else if (dashes.length > 0 && key === null && (dashes[0] ?? 0) < limit && !dashed) {
      path.unshift('[]')
      dashed = true
      limit = (dashes[0] ?? 0) + 1
    }
  }
  const colon = here.key === null ? -1 : text.indexOf(':', here.indent + here.key.length)
  const inValue = colon >= 0 && column > colon
  const siblings = lines.slice(from, to).flatMap((other, i) => {
    const read = readLine(other)
    return from + i !== line &&
      read.key !== null &&
      read.indent === indent &&
      connected(lines, from + i, line, indent)
      ? [read.key]
      : []
  })
  const kind = lines
    .slice(from, to)
    .map((l) => /^kind:\s*["']?([A-Za-z0-9]+)/.exec(l)?.[1])
    .find((k) => k !== undefined)
  return {
    path: inValue && here.key !== null ? [...path, here.key] : path,
    kind: kind ?? null,
    siblings,
    inValue,
  }
}

/** Whether two lines are in the same mapping: no line between them is indented less. */
function connected(lines: readonly string[], a: number, b: number, indent: number): boolean {
  const [low, high] = a < b ? [a, b] : [b, a]
  for (let at = low + 1; at <= high; at++) {
    const text = lines[at] ?? ''
    if (blank(text)) continue
    const { indent: i, dashes } = readLine(text)
    if (at !== b && i < indent) return false
    if (dashes.length > 0 && i === indent && at !== low) return false
  }
  return true
}

const most = 24

function resolve(
  root: SchemaNode,
  node: SchemaNode | undefined,
  depth = 0,
): SchemaNode | undefined {
  if (node?.$ref === undefined || depth > most) return node
  const found = node.$ref
    .replace(/^#\/?/, '')
    .split('/')
    .filter((part) => part !== '')
    .reduce<unknown>(
      (at, part) =>
        typeof at === 'object' && at !== null
          ? (at as Record<string, unknown>)[part.replaceAll('~1', '/').replaceAll('~0', '~')]
          : undefined,
      root,
    )
  const { $ref: _, ...own } = node
  const target = resolve(root, found as SchemaNode | undefined, depth + 1)
  return target && { ...target, ...own }
}

/** A schema node and, recursively, its `allOf`, `oneOf` and `anyOf` alternatives. */
function* variants(
  root: SchemaNode,
  given: SchemaNode | undefined,
  depth = 0,
): Generator<SchemaNode> {
  const node = resolve(root, given)
  if (node === undefined || depth > most) return
  yield node
  for (const other of [...(node.allOf ?? []), ...(node.oneOf ?? []), ...(node.anyOf ?? [])])
    yield* variants(root, other, depth + 1)
}

const kindOf = (root: SchemaNode, node: SchemaNode): string | null => {
  const kind = resolve(root, node.properties?.['kind'])
  const value = kind?.const ?? (kind?.enum?.length === 1 ? kind.enum[0] : undefined)
  return typeof value === 'string' ? value : null
}

/**
 * All schema nodes of a path. The `kind` selects the document; without `kind` the document is the
 * machine configuration.
 */
export function nodesAt(
  root: SchemaNode,
  path: readonly string[],
  kind: string | null,
): SchemaNode[] {
  const documents = [...variants(root, root)]
  const told = documents.filter((d) => kindOf(root, d) === kind)
  // If the document has no `kind` yet, the user may be starting a document of any kind, so include
  // the schemas of all kinds.
  const open =
    kind === null &&
    (path.length === 0 || (path.length === 1 && (path[0] === 'kind' || path[0] === 'apiVersion')))
  let nodes = open || told.length === 0 ? documents : told
  for (const key of path) {
    nodes = nodes
      .flatMap((node) => childOf(node, key))
      .flatMap((child) => [...variants(root, child)])
  }
  return nodes
}

function childOf(node: SchemaNode, key: string): SchemaNode[] {
  if (key === '[]') return node.items ? [node.items] : []
  const named = node.properties?.[key]
  if (named) return [named]
  const pattern = Object.entries(node.patternProperties ?? {}).find(([p]) =>
    new RegExp(p, 'u').test(key),
  )
  if (pattern) return [pattern[1]]
  return typeof node.additionalProperties === 'object' ? [node.additionalProperties] : []
}

export interface Suggestion {
  label: string
  /** "string", "list", "object". */
  type: string
  text: string
  /** Kind of completion: a key (a colon is added) or a value. */
  is: 'key' | 'value'
}

const typeText = (node: SchemaNode): string => {
  const type =
    typeof node.type === 'string' ? node.type : node.type?.filter((t) => t !== 'null').join(' or ')
  if (type === 'array') return 'list'
  if (type !== undefined) return type
  return node.enum ? 'one of a list' : node.properties ? 'object' : ''
}

/** Completions at a place: missing keys, or allowed values. */
export function suggestions(root: SchemaNode, place: Place): Suggestion[] {
  const found = new Map<string, Suggestion>()
  const fits = (node: SchemaNode) =>
    place.path.length > 0 ||
    place.inValue ||
    place.siblings.every((key) => node.properties?.[key] !== undefined)
  for (const node of nodesAt(root, place.path, place.kind).filter(fits)) {
    if (place.inValue) {
      for (const value of [
        ...(node.enum ?? []),
        ...(node.const === undefined ? [] : [node.const]),
        ...(node.type === 'boolean' ? [true, false] : []),
      ]) {
        found.set(String(value), {
          label: String(value),
          type: typeText(node),
          text: '',
          is: 'value',
        })
      }
      continue
    }
    for (const [key, child] of Object.entries(node.properties ?? {})) {
      if (place.siblings.includes(key) || found.has(key)) continue
      const told = resolve(root, child) ?? child
      found.set(key, {
        label: key,
        type: typeText(told),
        text: told.description ?? told.title ?? '',
        is: 'key',
      })
    }
  }
  return [...found.values()]
}

/** Hover text of the key at a line; null if the schema has none. */
export function hint(
  root: SchemaNode,
  lines: readonly string[],
  line: number,
): { key: string; type: string; text: string; values: readonly string[] } | null {
  const { key, indent } = readLine(lines[line] ?? '')
  if (key === null) return null
  const place = placeAt(lines, line, indent)
  const node = nodesAt(root, [...place.path, key], place.kind).find(
    (n) => n.description !== undefined || n.type !== undefined,
  )
  if (node === undefined) return null
  return {
    key,
    type: typeText(node),
    text: node.description ?? node.title ?? '',
    values: (node.enum ?? []).map(String),
  }
}
