/**
 * Writes YAML as Talos does, with the layout and quoting of go-yaml and an indent of 4. So our
 * output can be compared byte by byte with Talos's, and users see the same text in Steelyard and in
 * Talos's tools.
 */
import { type Contract, has } from '../versions.ts'
import type { MapNode, Place, ScalarNode, TreeNode } from './tree.ts'

const step = 4

/**
 * Writes documents, separated by `---`. `places` has the layer of each line, in order, and the place
 * of what stands there in the layer's text.
 * @param talosVersion whose form is written. Default: the newest offered minor
 */
export function emit(documents: readonly MapNode[], talosVersion?: Contract | string) {
  const hasSingleQuotes = has(talosVersion, 'singleQuotedWords')
  const scalarText = (value: ScalarNode['value']): string =>
    hasSingleQuotes && typeof value === 'string' && isOldWord(value)
      ? `'${value}'`
      : plainOrQuoted(value)
  const lines: string[] = []
  const places: Place[] = []
  const put = (text: string, { line, column, source }: Place) => {
    lines.push(text)
    places.push({ line, column, source })
  }

  /**
   * Writes a mapping. `first` replaces the indentation of the first key: a list item has its dash
   * there.
   */
  const writeMap = (map: MapNode, indent: number, first = ' '.repeat(indent)) => {
    let lead = first
    for (const [key, entry] of map.entries) {
      writeValue(`${lead}${scalarText(key)}:`, entry.value, indent, entry)
      lead = ' '.repeat(indent)
    }
  }

  /**
   * Writes a value after `head`, which is a key with its colon. Containers go on the following
   * lines, one level deeper.
   */
  const writeValue = (head: string, node: TreeNode, indent: number, place: Place) => {
    if (node.is === 'scalar') return writeScalar(`${head} `, node, deeper(indent))
    if (node.is === 'list') {
      if (node.items.length === 0) return put(`${head} []`, node)
      put(head, place)
      return writeList(node.items, deeper(indent))
    }
    if (node.entries.size === 0) return put(`${head} {}`, node)
    put(head, place)
    writeMap(node, deeper(indent))
  }

  const writeList = (items: readonly TreeNode[], indent: number, first = ' '.repeat(indent)) => {
    let lead = first
    for (const item of items) {
      const dash = `${lead}- `
      // Inside a list item the next level is indented to the column after the dash.
      if (item.is === 'scalar') writeScalar(dash, item, indent + 2)
      else if (item.is === 'map' && item.entries.size === 0) put(`${dash}{}`, item)
      else if (item.is === 'map') writeMap(item, indent + 2, dash)
      else if (item.items.length === 0) put(`${dash}[]`, item)
      else writeList(item.items, indent + 2, dash)
      lead = ' '.repeat(indent)
    }
  }

  /** `inner`: the indentation of the lines of a text that has several. */
  const writeScalar = (head: string, node: ScalarNode, inner: number) => {
    const { value, octal } = node
    if (octal === true && typeof value === 'bigint')
      return put(`${head}0o${value.toString(8)}`, node)
    if (typeof value !== 'string' || !value.includes('\n') || !literalAllowed(value))
      return put(`${head}${scalarText(value)}`, node)
    const chomp = !value.endsWith('\n') ? '-' : value.endsWith('\n\n') ? '+' : ''
    put(`${head}|${chomp}`, node)
    const lead = ' '.repeat(inner)
    for (const line of (value.endsWith('\n') ? value.slice(0, -1) : value).split('\n'))
      put(line === '' ? '' : `${lead}${line}`, node)
  }

  documents.forEach((document, i) => {
    if (i > 0) put('---', document)
    if (document.entries.size === 0) put('{}', document)
    else writeMap(document, 0)
  })
  return { yaml: lines.map((line) => `${line}\n`).join(''), places }
}

/**
 * The indentation of the next level: go-yaml aligns to multiples of the indent, also inside a list
 * item.
 */
function deeper(indent: number): number {
  return step * Math.floor((indent + step) / step)
}

/**
 * go-yaml writes a block literal with leading white space with a wrong indentation indicator (`|4`,
 * relative to the wrong level), can't read it back, and the configuration is lost. Such text is
 * quoted instead.
 */
function literalAllowed(text: string): boolean {
  return !/^[ \t\n]/.test(text) && !/ (\n|$)/.test(text) && !hasSpecial(text)
}

/** A scalar on one line: plain if it reads back as the same string, else quoted. */
function plainOrQuoted(value: string | number | bigint | boolean | null): string {
  if (value === null) return 'null'
  if (typeof value !== 'string') return String(value)
  if (value.includes('\n') || hasSpecial(value) || value.includes('\t')) return doubleQuoted(value)
  if (readsAsOther(value)) return doubleQuoted(value)
  if (plainAllowed(value)) return value
  return `'${value.replaceAll("'", "''")}'`
}

/**
 * Whether unquoted text would be read as another type than a string (go-yaml `resolve.go`), or is a
 * bool of YAML 1.1.
 */
function readsAsOther(text: string): boolean {
  if (/^(|~|null|Null|NULL|true|True|TRUE|false|False|FALSE)$/.test(text)) return true
  if (/^([-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$/.test(text)) return true
  return isNumber(text) || isTimestamp(text) || isOldWord(text)
}

/** Text that only YAML 1.1 reads as another type: a bool, a number to base 60, a merge key. */
function isOldWord(text: string): boolean {
  return (
    /^(y|Y|yes|Yes|YES|on|On|ON|n|N|no|No|NO|off|Off|OFF|<<)$/.test(text) ||
    /^[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?$/.test(text)
  )
}

function isNumber(text: string): boolean {
  if (!/^[-+.0-9]/.test(text)) return false
  const digits = text.replaceAll('_', '')
  return (
    /^[-+]?(0[bB][01]+|0[oO]?[0-7]+|0[xX][0-9a-fA-F]+|[1-9][0-9]*|0)$/.test(digits) ||
    /^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$/.test(digits)
  )
}

export function isTimestamp(text: string): boolean {
  return /^[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt ][0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}(\.[0-9]+)?(Z|[-+][0-9]{2}:[0-9]{2})?)?$/.test(
    text,
  )
}

function plainAllowed(text: string): boolean {
  if (/^\s|\s$/.test(text) || text.startsWith('---') || text.startsWith('...')) return false
  if (/^[#,[\]{}&*!|>'"%@`]/.test(text) || /^[-?:](\s|$)/.test(text)) return false
  return !/:(\s|$)/.test(text) && !/\s#/.test(text)
}

/** Characters that aren't printable in YAML. The caller handles tabs. */
function hasSpecial(text: string): boolean {
  return /[^\t\n\u0020-\u007e\u00a0-\ud7ff\ue000-\ufefe\uff00-\ufffd\u{10000}-\u{10ffff}]/u.test(
    text,
  )
}

function doubleQuoted(text: string): string {
  const escapes: Record<string, string> = {
    '"': '\\"',
    '\\': '\\\\',
    '\n': '\\n',
    '\r': '\\r',
    '\t': '\\t',
    '\0': '\\0',
    '\u001b': '\\e',
  }
  const escaped = text.replace(
    /["\\]|[^\u0020-\u007e\u00a0-\ud7ff\ue000-\ufefe\uff00-\ufffd\u{10000}-\u{10ffff}]/gu,
    (c) => {
      const code = c.codePointAt(0)!
      return (
        escapes[c] ??
        (code <= 0xff
          ? `\\x${hex(code, 2)}`
          : code <= 0xffff
            ? `\\u${hex(code, 4)}`
            : `\\U${hex(code, 8)}`)
      )
    },
  )
  return `"${escaped}"`
}

function hex(code: number, length: number): string {
  return code.toString(16).toUpperCase().padStart(length, '0')
}

/**
 * Order of keys in maps without a fixed order: numbers by value, other non-letters before letters
 * (go-yaml `sorter.go`).
 */
export function compareKeys(a: string, b: string): number {
  const left = Array.from(a)
  const right = Array.from(b)
  const isDigit = (c: string | undefined) => c !== undefined && /\p{Nd}/u.test(c)
  const isLetter = (c: string | undefined) => c !== undefined && /\p{L}/u.test(c)
  let i = 0
  while (i < left.length && i < right.length && left[i] === right[i]) i++
  if (i === left.length || i === right.length) return left.length - right.length
  const afterDigit = i > 0 && isDigit(left[i - 1])
  const [l, r] = [left[i]!, right[i]!]
  if (isLetter(l) && isLetter(r)) return l < r ? -1 : 1
  if (isLetter(l) || isLetter(r)) return isLetter(l) === afterDigit ? -1 : 1
  const number = (from: string[]) => {
    // If one of the differing digits is 0, compare the whole numbers: a 0 counts in 10, but not in
    // 01.
    let begin = i
    if (l === '0' || r === '0') while (begin > 0 && isDigit(left[begin - 1])) begin--
    let end = i
    while (isDigit(from[end])) end++
    return { value: BigInt(from.slice(begin, end).join('') || '0'), length: end - i }
  }
  const [x, y] = [number(left), number(right)]
  if (x.value !== y.value) return x.value < y.value ? -1 : 1
  if (x.length !== y.length) return x.length - y.length
  return l < r ? -1 : 1
}
