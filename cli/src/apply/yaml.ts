/**
 * Splits the text of a file into YAML documents and reads each. A document marker at the start of a
 * line always separates documents, even inside a quoted text (YAML 1.2.2, 9.1.2), so the text is
 * split before it is parsed: memory and time depend on the largest document, not on the file.
 */
import {
  type Document,
  isAlias,
  isCollection,
  isMap,
  isNode,
  isPair,
  isScalar,
  LineCounter,
  type Node,
  parseDocument,
  visit,
} from 'yaml'

/** Longest document in characters. The API accepts no larger body. */
export const longestDocument = 2 * 1024 * 1024
export const mostDocuments = 50_000

export interface Located {
  /** Line in the file, from 1. */
  readonly line: number
  readonly message: string
}

export interface YamlDocument {
  readonly value: unknown
  /** Line of the document's first entry in the file. */
  readonly line: number
  /**
   * The line of the value at a path. If the path doesn't exist, the line of its nearest parent.
   * With `key`, the line of that key below the path.
   */
  readonly lineOf: (path: readonly PropertyKey[], key?: string) => number
}

type Reading =
  | { readonly ok: true; readonly document: YamlDocument }
  | { readonly ok: false; readonly problems: readonly Located[] }

/**
 * The documents' texts, each with the number of lines before it. Documents without content are left
 * out.
 */
export function* splitDocuments(text: string): Generator<{ text: string; before: number }> {
  const marker = /^(?:---(?=[ \t\r\n]|$)|\.\.\.(?=[ \t\r]*$))/gm
  let from = 0
  let before = 0
  const part = (to: number) => {
    const piece = text.slice(from, to)
    const counted = { text: piece, before }
    for (let at = piece.indexOf('\n'); at >= 0; at = piece.indexOf('\n', at + 1)) before++
    return counted
  }
  const hasContent = (piece: string) => /^[ \t]*[^#\s]/m.test(piece.replace(/^(?:---|\.\.\.)/, ''))
  for (const { index } of text.matchAll(marker)) {
    const piece = part(index)
    from = index
    if (hasContent(piece.text)) yield piece
  }
  const last = part(text.length)
  if (hasContent(last.text)) yield last
}

/**
 * Why a node may not be in a document: anchors, aliases and tags could make a short text large, or
 * mean something else than it says.
 */
function forbidden(node: Node): string | null {
  if (isAlias(node))
    return `An alias is not allowed here: write the value itself, not *${node.source}`
  if (node.anchor !== undefined) return `An anchor is not allowed here: remove &${node.anchor}`
  return node.tag !== undefined && !node.tag.startsWith('tag:yaml.org,2002:')
    ? `The tag ${node.tag} is not allowed here`
    : null
}

/**
 * Anchors, aliases, foreign tags, keys that aren't text, and keys that occur twice. Compared in one
 * pass: the parser compares each key with all others.
 */
function problemsIn(document: Document.Parsed, lineAt: (offset: number) => number): Located[] {
  const problems: Located[] = []
  const say = (node: Node, message: string) =>
    problems.push({ line: lineAt(node.range?.[0] ?? 0), message })
  visit(document, {
    Node: (_key, node) => {
      const message = forbidden(node)
      if (message !== null) say(node, message)
      if (!isMap(node)) return
      const seen = new Set<string>()
      for (const { key } of node.items) {
        if (!isScalar(key) || typeof key.value !== 'string') {
          if (isNode(key) && !isAlias(key)) say(key, 'A key must be text')
        } else if (seen.has(key.value)) say(key, `${key.value} is given twice`)
        else seen.add(key.value)
      }
    },
  })
  return problems
}

/** @param before number of lines before the document in its file */
export function readYaml(text: string, before: number): Reading {
  const fail = (line: number, message: string): Reading => ({
    ok: false,
    problems: [{ line, message }],
  })
  if (text.length > longestDocument)
    return fail(before + 1, `A document has at most ${longestDocument / 1024 ** 2} MiB`)
  const lines = new LineCounter()
  const lineAt = (offset: number) => before + Math.max(1, lines.linePos(offset).line)
  let document: Document.Parsed
  let value: unknown
  let problems: Located[]
  try {
    document = parseDocument(text, {
      lineCounter: lines,
      uniqueKeys: false,
      prettyErrors: false,
      logLevel: 'silent',
      merge: false,
    })
    if (document.errors.length > 0)
      return {
        ok: false,
        problems: document.errors
          .slice(0, 5)
          .map((e) => ({ line: lineAt(e.pos[0]), message: e.message.split('\n', 1)[0]! })),
      }
    problems = problemsIn(document, lineAt)
    if (problems.length > 0) return { ok: false, problems }
    value = document.toJS()
  } catch (error) {
    // The parser is recursive, so thousands of nested brackets exceed the stack.
    if (error instanceof RangeError) return fail(before + 1, 'The document is nested too deeply')
    throw error
  }
  const offsetOf = (node: unknown): number | undefined =>
    isNode(node) ? node.range?.[0] : undefined
  const lineOf = (path: readonly PropertyKey[], key?: string): number => {
    let at: unknown = document.contents
    let offset = offsetOf(at) ?? 0
    for (const step of key === undefined ? path : [...path, key]) {
      if (!isCollection(at)) break
      const pair = isMap(at)
        ? at.items.find((item) => isPair(item) && isScalar(item.key) && item.key.value === step)
        : undefined
      const next = pair ? pair.value : at.get(step, true)
      const found = offsetOf(pair?.key) ?? offsetOf(next)
      if (found === undefined) break
      offset = found
      at = next
    }
    return lineAt(offset)
  }
  return { ok: true, document: { value, line: lineOf([]), lineOf } }
}
