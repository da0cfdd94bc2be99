/**
 * YAML as Talos reads it, with the position of every value, for the editor and for the layer of
 * each line.
 */
import {
  Composer,
  type CST,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node as AstNode,
  Parser,
  Scalar as AstScalar,
} from 'yaml'
import { ConfigError, type ConfigProblem } from './problem.ts'

export { ConfigError, type ConfigProblem } from './problem.ts'

export interface Place {
  /** Line number, from 1, in the text that the value was read from. */
  line: number
  column: number
  /** Name of the layer that the value came from. */
  source: string
}

export type ScalarValue = string | number | bigint | boolean | null

export interface ScalarNode extends Place {
  is: 'scalar'
  value: ScalarValue
  /** The characters of an unquoted scalar; undefined for a quoted one, which is always a string. */
  plain: string | undefined
  /** Written as an octal number. */
  octal?: boolean
  /** Position in the source text: index of the first character, and index after the last. */
  range?: [number, number]
}

export interface Entry extends Place {
  value: TreeNode
}

export interface MapNode extends Place {
  is: 'map'
  entries: Map<string, Entry>
}

export interface ListNode extends Place {
  is: 'list'
  items: TreeNode[]
}

export type TreeNode = ScalarNode | MapNode | ListNode

/** A tree whose values have the places of their lines in another text; other lines keep theirs. */
export function placedBy(root: MapNode, places: readonly Place[]): MapNode {
  const placeOf = ({ line, column, source }: Place): Place =>
    places[line - 1] ?? { line, column, source }
  const placed = (node: TreeNode): TreeNode =>
    node.is === 'scalar'
      ? { ...node, ...placeOf(node) }
      : node.is === 'list'
        ? { ...node, ...placeOf(node), items: node.items.map(placed) }
        : mapOf(node)
  const mapOf = (node: MapNode): MapNode => ({
    ...node,
    ...placeOf(node),
    entries: new Map(
      Array.from(node.entries, ([key, entry]) => [
        key,
        { ...placeOf(entry), value: placed(entry.value) },
      ]),
    ),
  })
  return mapOf(root)
}

/** A text that is not YAML. */
class Unreadable extends ConfigError {
  override readonly isUnreadable = true
}

/** A text has more than the reader takes, whatever it says. */
export class TooMuch extends ConfigError {}

/** Maximum number of values, and the message if there are more. */
export interface Bounds {
  readonly values: number
  readonly tooMany: string
}

/**
 * The limits of all YAML unless its reader has narrower ones: more than the largest configuration
 * of a machine has, with patches of 20,000 values.
 */
const usualBounds: Bounds = { values: 60_000, tooMany: 'There are too many values' }
/** Maximum depth of nested values. */
const deepest = 200
const tooDeep = 'Nested too deeply'

/**
 * Maximum number of errors, and also of documents and of directives. Reading stops at the limit.
 */
const mostOfAKind = 200

/**
 * Number of values in a token, counted up to `most`. Not recursive, because a hostile text can nest
 * tokens very deeply. Of stray tokens after a value, only the first `mostOfAKind` are kept.
 * @throws TooMuch if they are nested too deeply
 */
function valuesOf(token: CST.Token, most: number): number {
  let count = 0
  let level: (CST.Token | null | undefined)[] = [token]
  for (let depth = 0; level.length > 0 && count <= most; depth++) {
    if (depth > deepest) throw new TooMuch([{ message: tooDeep }])
    const below: (CST.Token | null | undefined)[] = []
    for (const next of level) {
      if (!next || count > most) continue
      if (next.type === 'document') below.push(next.value)
      if ('end' in next && next.end && next.end.length > mostOfAKind) next.end.length = mostOfAKind
      if (!('items' in next)) continue
      for (const { key, value } of next.items) {
        if (key !== undefined || value !== undefined) count++
        below.push(key, value)
      }
    }
    level = below
  }
  return count
}

/**
 * The parser's tokens, up to the limits. Building a tree takes many times as long as reading the
 * tokens, and anyone who may write a patch could send too large a text again and again.
 */
function* bounded(tokens: Iterable<CST.Token>, { values, tooMany }: Bounds): Generator<CST.Token> {
  const seen = { error: 0, document: 0, directive: 0 }
  let left = values
  for (const token of tokens) {
    if (token.type in seen) {
      const count = ++seen[token.type as keyof typeof seen]
      // Report only the first `mostOfAKind` errors.
      if (count > mostOfAKind) {
        if (token.type === 'error') return
        throw new TooMuch([{ message: `There are too many ${token.type}s` }])
      }
    }
    left -= valuesOf(token, left)
    if (left < 0) throw new TooMuch([{ message: tooMany }])
    yield token
  }
}

/**
 * The documents of a YAML text; empty ones are left out, as Talos does. Anchors, aliases, tags and
 * merge keys are refused: Talos would accept them, but then a line of the result could have more
 * than one origin. Throws ConfigError.
 */
export function readDocuments(
  text: string,
  source: string,
  bounds: Bounds = usualBounds,
): MapNode[] {
  const lines = new LineCounter()
  const problems: ConfigProblem[] = []
  const report = (message: string, offset: number, path?: string) => {
    const { line, col } = lines.linePos(offset)
    problems.push({ message, line, column: col, ...(path === undefined ? {} : { path }) })
  }
  let documents: Document[]
  try {
    const composer = new Composer({
      schema: 'core',
      uniqueKeys: false,
      strict: true,
      intAsBigInt: true,
      merge: false,
      logLevel: 'silent',
      prettyErrors: false,
    })
    const tokens = new Parser(lines.addNewLine).parse(text.replace(/^\ufeff/, ''))
    documents = [...composer.compose(bounded(tokens, bounds))]
  } catch (error) {
    if (error instanceof ConfigError) throw error
    // The parser recurses, so nested brackets could overflow its stack.
    throw new TooMuch([{ message: tooDeep }])
  }
  for (const document of documents) {
    for (const error of document.errors.slice(0, 20)) report(firstLine(error.message), error.pos[0])
  }
  if (problems.length > 0) throw new Unreadable(problems)

  // One anchor has any number of aliases, so only the first place is told.
  let hasAnchor = false
  const reportAnchor = (offset: number, path: string) => {
    if (!hasAnchor)
      report(
        'Anchors (&), aliases (*) and merge keys (<<) are not possible here: write the values out in each place',
        offset,
        path,
      )
    hasAnchor = true
  }
  const convert = (node: AstNode | null | undefined, path: string, fallback: number): TreeNode => {
    const offset = node?.range?.[0] ?? fallback
    const { line, col } = lines.linePos(offset)
    const place = { line, column: col, source }
    if (node === null || node === undefined)
      return { is: 'scalar', value: null, plain: '', ...place }
    if (isAlias(node)) {
      reportAnchor(offset, path)
      return { is: 'scalar', value: null, plain: '', ...place }
    }
    if (node.anchor !== undefined) reportAnchor(offset, path)
    if (node.tag !== undefined) report('Tags are not allowed', offset, path)
    if (isScalar(node)) {
      const plain = node.type === AstScalar.PLAIN ? (node.source ?? '') : undefined
      return {
        is: 'scalar',
        value: scalarValue(node.value),
        plain,
        ...place,
        ...(node.range ? { range: [node.range[0], node.range[1]] } : {}),
      }
    }
    if (isSeq(node)) {
      return {
        is: 'list',
        items: node.items.map((item, i) => convert(item as AstNode, join(path, String(i)), offset)),
        ...place,
      }
    }
    if (isMap(node)) {
      const entries = new Map<string, Entry>()
      for (const pair of node.items) {
        const key = pair.key as AstNode
        const at = key.range?.[0] ?? offset
        if (!isScalar(key)) {
          report('A key must be a single value', at, path)
          continue
        }
        const name = typeof key.value === 'string' ? key.value : (key.source ?? '')
        if (key.anchor !== undefined) reportAnchor(at, path)
        if (key.tag !== undefined) report('Tags are not allowed', at, path)
        if (name === '<<' && key.type === AstScalar.PLAIN) reportAnchor(at, path)
        const keyPlace = lines.linePos(at)
        if (entries.has(name)) report(`The key ${name} is there twice`, at, join(path, name))
        entries.set(name, {
          line: keyPlace.line,
          column: keyPlace.col,
          source,
          value: convert(pair.value as AstNode | null, join(path, name), at),
        })
      }
      return { is: 'map', entries, ...place }
    }
    throw new ConfigError([{ message: 'Unreadable YAML', line, column: col }])
  }

  const roots: MapNode[] = []
  for (const document of documents) {
    const root = convert(document.contents, '', document.range?.[0] ?? 0)
    if (root.is === 'scalar' && root.value === null) continue
    if (root.is === 'map') roots.push(root)
    else
      problems.push({
        message:
          root.is === 'list'
            ? 'A list is not a configuration; JSON patches are not supported'
            : 'A document must be a mapping',
        line: root.line,
        column: root.column,
      })
  }
  if (problems.length > 0) throw new ConfigError(problems)
  return roots
}

function scalarValue(value: unknown): ScalarValue {
  return typeof value === 'string' ||
    typeof value === 'number' ||
    typeof value === 'bigint' ||
    typeof value === 'boolean'
    ? value
    : null
}

function firstLine(message: string): string {
  if (message.includes('call stack')) return tooDeep
  return message.split('\n')[0]!.replace(/ at line \d+, column \d+:?$/, '')
}

/** The path extended by one key. */
export function join(path: string, key: string): string {
  return path === '' ? key : `${path}.${key}`
}

/** A tree made from plain values, all from one layer. Undefined values are left out. */
export function treeOf(value: unknown, source: string): TreeNode {
  const place = { line: 0, column: 0, source }
  if (Array.isArray(value))
    return { is: 'list', items: value.map((v: unknown) => treeOf(v, source)), ...place }
  if (typeof value === 'object' && value !== null) {
    const entries = new Map<string, Entry>()
    for (const [key, v] of Object.entries(value))
      if (v !== undefined) entries.set(key, { ...place, value: treeOf(v, source) })
    return { is: 'map', entries, ...place }
  }
  return { is: 'scalar', value: scalarValue(value), plain: undefined, ...place }
}

/** Value at a path of keys, or undefined. */
export function at(node: TreeNode | undefined, ...path: string[]): TreeNode | undefined {
  let here = node
  for (const key of path) here = here?.is === 'map' ? here.entries.get(key)?.value : undefined
  return here
}

/** Text of a scalar at a path; undefined if missing or null. */
export function textAt(node: TreeNode | undefined, ...path: string[]): string | undefined {
  const found = at(node, ...path)
  return found?.is === 'scalar' && found.value !== null ? String(found.value) : undefined
}

/**
 * The values as texts, as they were written: objects, lists and strings. An unset value is an empty
 * text.
 */
export function textsOf(node: TreeNode): unknown {
  if (node.is === 'list') return node.items.map(textsOf)
  if (node.is === 'map')
    return Object.fromEntries(Array.from(node.entries, ([key, { value }]) => [key, textsOf(value)]))
  return node.plain ?? String(node.value ?? '')
}

/** A deep copy. */
export function clone(node: MapNode): MapNode
export function clone(node: TreeNode): TreeNode
export function clone(node: TreeNode): TreeNode {
  if (node.is === 'scalar') return { ...node }
  if (node.is === 'list') return { ...node, items: node.items.map((item) => clone(item)) }
  return {
    ...node,
    entries: new Map(
      Array.from(node.entries, ([key, entry]) => [
        key,
        Object.assign({}, entry, { value: clone(entry.value) }),
      ]),
    ),
  }
}
