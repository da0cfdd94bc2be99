/**
 * Sentences about mistakes that YAML's parsers describe badly: characters that come with copied
 * text, and indentation. Lines and columns count from 1.
 */
import type { ConfigProblem } from './tree.ts'

/**
 * Spaces that aren't YAML's space (YAML 1.2, 5.5 and 6.1): web pages and word processors write them.
 */
const otherSpace = /[\u00a0\u1680\u2000-\u200b\u202f\u205f\u2060\u3000\ufeff]/u
const names: Readonly<Record<string, string>> = {
  '\u00a0': 'a no-break space',
  '\u202f': 'a narrow no-break space',
  '\u200b': 'a zero-width space',
  '\u2060': 'an invisible word joiner',
  '\ufeff': 'a byte order mark',
}
const fence = /^\s*(?<mark>`{3,}|~{3,})/

/**
 * Index of a character that stands for a space of the structure: in the indentation, or after `:` or
 * `-`. -1 if there is none.
 */
function otherSpaceIn(line: string): number {
  const first = line.search(otherSpace)
  if (first === -1 || line.trim() === '') return -1
  if (first < line.length - line.trimStart().length) return first
  const after = line.search(afterMark)
  if (after === -1) return -1
  const before = line.slice(0, after)
  const isText = before.includes('#') || /["']/.test(before.replaceAll(quoted, ''))
  return isText ? -1 : after + 1
}
const afterMark = /[:-][\u00a0\u1680\u2000-\u200b\u202f\u205f\u2060\u3000\ufeff]/u
const quoted = /"[^"]*"|'[^']*'/g

/** Lines that have such a character, with the sentence. */
function otherSpaces(lines: readonly string[]): ConfigProblem[] {
  return lines.flatMap((line, i) => {
    const at = otherSpaceIn(line)
    if (at === -1) return []
    const character = line[at]!
    const code = `U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`
    return [
      {
        message: `There is ${names[character] ?? 'a special space'} (${code}) where YAML needs a usual space: it often comes with text that is copied from a web page. Type the space anew`,
        line: i + 1,
        column: at + 1,
      },
    ]
  })
}

/** The first line of a code fence around the text. */
function fenceOf(lines: readonly string[]): ConfigProblem | undefined {
  const at = lines.findIndex((line) => fence.test(line))
  if (at === -1) return undefined
  const last = lines.findLastIndex((line) => fence.test(line))
  const { mark } = fence.exec(lines[at]!)!.groups!
  return {
    message: `The marks ${mark} around code are not part of the YAML: remove ${last === at ? 'the line' : `lines ${at + 1} and ${last + 1}`}`,
    line: at + 1,
    column: lines[at]!.indexOf(mark!) + 1,
  }
}

const indentOf = (line: string): number => line.length - line.trimStart().length
/** Length of the dashes with which a line of a list begins. */
const dashesOf = (trimmed: string): number => /^(?:- +)*/.exec(trimmed)![0].length

/** What stands after the key of a line; undefined if the line has no key. */
function valueOf(line: string): string | undefined {
  const trimmed = line.trim()
  const text = trimmed.slice(dashesOf(trimmed))
  const quote = text[0] === '"' || text[0] === "'" ? text[0] : undefined
  const from = quote === undefined ? 0 : text.indexOf(quote, 1)
  if (from === -1 || (quote === undefined && /^[#&*!|>%@`{[\]}]/.test(text))) return undefined
  const colon = `${text} `.indexOf(': ', from)
  if (colon === -1 || text.slice(from, colon).includes(' #')) return undefined
  return text.slice(colon + 1).trim()
}
/** Whether a value is whole on its line, so that nothing may be below it. */
const isWhole = (value: string | undefined): boolean =>
  value !== undefined && value !== '' && !/^[#|>&!{["']/.test(value)
const isBlank = (line: string): boolean => line.trim() === '' || line.trimStart().startsWith('#')
const spaces = (n: number): string => (n === 1 ? '1 space' : `${n} spaces`)

/**
 * The first line whose indentation fits no level. Texts below `|` and `>` have their own
 * indentation and are left out.
 */
function indentationOf(lines: readonly string[]): ConfigProblem | undefined {
  let levels: number[] = [0]
  let before: { readonly text: string; readonly line: number } | undefined
  /** Indentation of the key whose text block goes on. */
  let block: number | undefined
  for (const [i, line] of lines.entries()) {
    if (isBlank(line)) continue
    const indent = indentOf(line)
    if (block !== undefined && indent > block) continue
    block = undefined
    if (/^(?:---|\.\.\.)(?:\s|$)/.test(line)) {
      levels = [0]
      before = undefined
      continue
    }
    const tab = line.slice(0, indent).indexOf('\t')
    if (tab !== -1)
      return {
        message: 'A tab can’t indent a line in YAML: use spaces',
        line: i + 1,
        column: tab + 1,
      }
    const at = { line: i + 1, column: indent + 1 }
    const value = valueOf(line)
    if (before !== undefined && value !== undefined) {
      const last = indentOf(before.text)
      const inner = last + dashesOf(before.text.trimStart())
      if (indent > inner && isWhole(valueOf(before.text)))
        return {
          message: `The line is indented by ${spaces(indent)}, but line ${before.line} above has a value already, so nothing can be below it: it needs ${spaces(inner)}`,
          ...at,
        }
      if (indent < last && !levels.includes(indent)) {
        const near = levels.toSorted((a, b) => Math.abs(a - indent) - Math.abs(b - indent))[0]!
        return {
          message: `The line is indented by ${spaces(indent)}, which fits no line above: it probably needs ${spaces(near)}`,
          ...at,
        }
      }
    }
    levels = [...levels.filter((level) => level < indent), indent]
    const dashes = dashesOf(line.trimStart())
    if (dashes > 0) levels.push(indent + dashes)
    if (/^[|>]/.test(value ?? line.trimStart().slice(dashes))) block = indent
    before = { text: line, line: i + 1 }
  }
  return undefined
}

/**
 * The problems of a text in words of the text. A mistake that explains them takes their place,
 * because one cause is told once.
 * @param isUnreadable the parser could not read the text as YAML
 */
export function explained(
  text: string,
  problems: readonly ConfigProblem[],
  isUnreadable: boolean,
): readonly ConfigProblem[] {
  if (problems.length === 0) return problems
  const lines = text.split(/\r?\n/)
  const strange = otherSpaces(lines)
  if (isUnreadable) {
    if (strange.length > 0) return strange
    const slip = fenceOf(lines) ?? indentationOf(lines)
    return slip ? [slip] : problems
  }
  const marked = fenceOf(lines)
  if (marked && problems.some((p) => p.line === marked.line)) return [marked]
  const own = new Map(strange.map((s) => [s.line, s]))
  const told = new Set<ConfigProblem>()
  for (const problem of problems) told.add(own.get(problem.line) ?? problem)
  return [...told]
}
