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
const isWhole = (value: string | undefined): boolean => {
  const end = value === undefined ? undefined : closing[value[0] ?? '']
  return end === undefined
    ? value !== undefined && value !== '' && !/^[#|>&!]/.test(value)
    : value!.length > 1 && value!.endsWith(end)
}
/** What ends a value that begins with the character. */
const closing: Readonly<Record<string, string>> = { '{': '}', '[': ']', '"': '"', "'": "'" }
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
      if (indent < inner && !levels.includes(indent)) {
        const near =
          indent > last
            ? inner
            : levels.toSorted((a, b) => Math.abs(a - indent) - Math.abs(b - indent))[0]!
        return {
          message: `The line is indented by ${spaces(indent)}, which fits no line above: it probably needs ${spaces(near)}`,
          ...at,
        }
      }
    }
    const next = lines.slice(i + 1).find((one) => !isBlank(one))
    if (
      value === undefined &&
      /^[\w./-]+$/.test(line.trim()) &&
      next !== undefined &&
      indentOf(next) > indent &&
      valueOf(next) !== undefined
    )
      return {
        message: `The key ${line.trim()} needs a colon, because the lines below belong to it`,
        line: i + 1,
        column: line.trimEnd().length + 1,
      }
    levels = [...levels.filter((level) => level < indent), indent]
    const dashes = dashesOf(line.trimStart())
    if (dashes > 0) levels.push(indent + dashes)
    if (/^[|>]/.test(value ?? line.trimStart().slice(dashes))) block = indent
    before = { text: line, line: i + 1 }
  }
  return undefined
}

/** Marks of other programs that stand in a text, by line. */
const marks: readonly { readonly pattern: RegExp; readonly sentence: string }[] = [
  {
    pattern: /^(?:<{7}|>{7})(?: |$)/,
    sentence:
      'A conflict of Git is not resolved: keep one of the two versions, and remove the marks',
  },
  {
    pattern: /\{\{[^{}]*\}\}/,
    sentence:
      'The marks {{ and }} belong to a template, for example of Helm: write the value in their place',
  },
  {
    pattern: /[[{,] *\$\{\w+\}/,
    sentence:
      'The mark ${…} belongs to a shell or a template, for example of envsubst: write the value in its place',
  },
  {
    pattern: /^ +---(?:\s|$)/,
    sentence: 'The mark --- between documents must stand at the beginning of its line',
  },
  {
    pattern: /^\s*<(?:!doctype|html|head|\?xml)\b/i,
    sentence:
      'This is a web page and not a YAML file: save the file itself, for example its raw form',
  },
  {
    pattern: /^(?:@@ -\d|diff --git |\+\+\+ |[+-](?:machine|cluster|apiVersion):)/,
    sentence:
      'The lines are a difference of two files, with + and - before them: send the file itself',
  },
  {
    pattern: /[\u0085\u2028\u2029]/u,
    sentence:
      'There is a line end of another kind (U+0085, U+2028 or U+2029), which is none in YAML: type the line end anew',
  },
  {
    pattern: /^\s*cat <</,
    sentence: 'This line is a command of a shell: only the lines below belong to the file',
  },
]
function markIn(lines: readonly string[]): ConfigProblem | undefined {
  for (const [i, line] of lines.entries())
    for (const { pattern, sentence } of marks) {
      const at = line.search(pattern)
      if (at !== -1)
        return {
          message: sentence,
          line: i + 1,
          column: at + 1 + (/^ *---/.test(line) ? indentOf(line) : 0),
        }
    }
  return undefined
}

/**
 * Where a quotation mark or a bracket begins a value that doesn't end on its line, if the parser
 * misses its end.
 */
function unclosedIn(
  lines: readonly string[],
  problems: readonly ConfigProblem[],
): ConfigProblem | undefined {
  if (!problems.some(({ message }) => /^Missing closing|^Flow (sequence|map)/.test(message)))
    return undefined
  const last = Math.min(problems[0]?.line ?? lines.length, lines.length)
  for (let i = last - 1; i >= 0; i--) {
    const value = valueOf(lines[i]!)?.split(' #', 1)[0]!.trimEnd()
    const end = value === undefined ? undefined : closing[value[0] ?? '']
    if (end === undefined || (value!.length > 1 && value!.endsWith(end))) continue
    return {
      message: `The value begins with ${value![0]} and has no ${end} at its end`,
      line: i + 1,
      column: lines[i]!.indexOf(value!) + 1,
    }
  }
  return undefined
}

/** A break that is a carriage return alone, which YAML takes and editors don't show. */
function loneReturn(text: string): ConfigProblem | undefined {
  const at = text.search(/\r(?!\n)/)
  return at === -1
    ? undefined
    : {
        message:
          'The lines end with carriage returns alone: save the file with the line ends of Unix or Windows',
        line: text.slice(0, at).split('\n').length,
        column: at - text.lastIndexOf('\n', at - 1),
      }
}

const invisible = /[\u200b-\u200d\u2060\ufeff\u00ad]/u
/** A better sentence for a problem whose line shows the cause. */
function causeIn(problem: ConfigProblem, line: string): ConfigProblem {
  const because = (message: string, at: number) => ({ ...problem, message, column: at + 1 })
  const hidden = line.search(invisible)
  if (hidden !== -1)
    return because(
      `There is an invisible character (U+${line.codePointAt(hidden)!.toString(16).toUpperCase().padStart(4, '0')}): type the line anew`,
      hidden,
    )
  const curly = line.search(/[\u201c\u201d\u201e\u2018\u2019]/)
  if (curly !== -1)
    return because(`The quotation mark ${line[curly]} is none in YAML: use " or '`, curly)
  const glued = /^\s*(?:- +)?(?<key>[\w./-]+):(?<value>[^\s:/][^:]*)$/.exec(line)?.groups
  if (problem.message.endsWith('must be a mapping') && glued)
    return because(
      `A space is missing after the colon: ${glued['key']}: ${glued['value']}`,
      line.indexOf(':'),
    )
  return problem
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
    const slip =
      fenceOf(lines) ??
      loneReturn(text) ??
      markIn(lines) ??
      indentationOf(lines) ??
      unclosedIn(lines, problems)
    return slip ? [slip] : problems
  }
  const marked = fenceOf(lines)
  if (marked && problems.some((p) => p.line === marked.line)) return [marked]
  const own = new Map(strange.map((s) => [s.line, s]))
  const told = new Set<ConfigProblem>()
  const mark = markIn(lines)
  for (const problem of problems)
    told.add(
      own.get(problem.line) ??
        (mark?.line === problem.line ? mark : undefined) ??
        causeIn(problem, lines[(problem.line ?? 1) - 1] ?? ''),
    )
  return [...told]
}
