/**
 * Secrets of a patch, out of a text that people read and back into one that they have edited. Comments and layout stay as they were written,
 * so only the secrets' own characters are exchanged.
 */
import { isMap, isScalar, isSeq, type Document, type Node, parseAllDocuments, type Scalar } from 'yaml'
import { Problem } from '#contract/errors.ts'
import { masked, maskSecrets } from '#talos/config/mask.ts'
import { ConfigError } from '#talos/config/tree.ts'

export interface Masked {
  readonly text: string
  /** Where a line of the clear text is in the masked one: a secret of several lines becomes one. */
  readonly lineOf: (line: number) => number
}

interface Edit {
  readonly from: number
  readonly to: number
  readonly by: string
}

/** Texts only: numbers and dates must come back as they were written. */
const read = (yaml: string): Document.Parsed[] => parseAllDocuments(yaml, { schema: 'failsafe' }).filter((d): d is Document.Parsed => d.contents !== null)

function* scalarsWith(node: unknown, value: string, path: readonly (string | number)[] = []): Generator<(string | number)[]> {
  if (isScalar(node) && node.value === value) yield [...path]
  if (isSeq(node)) for (const [i, item] of node.items.entries()) yield* scalarsWith(item, value, [...path, i])
  if (isMap(node)) for (const pair of node.items) yield* scalarsWith(pair.value, value, [...path, String(isScalar(pair.key) ? pair.key.value : pair.key)])
}

const rangeOf = (node: Node, text: string): { from: number; to: number } => {
  const [from, valueEnd] = node.range!
  // A block scalar ends behind its line break, which belongs to the layout.
  return { from, to: text[valueEnd - 1] === '\n' ? valueEnd - 1 : valueEnd }
}

function splice(text: string, edits: readonly Edit[]): string {
  let result = text
  for (const { from, to, by } of edits.toSorted((a, b) => b.from - a.from)) result = result.slice(0, from) + by + result.slice(to)
  return result
}

/** Lines that a secret stood on and those it took beside the one that its mask takes. */
export interface Lost {
  readonly line: number
  readonly lines: number
}

/** Where a line of the clear text is once those are gone; a text of which nothing is shown has one line. */
export const lineIn = (lost: readonly Lost[] | null, line: number): number =>
  lost === null ? 1 : line - lost.reduce((n, l) => n + Math.max(0, Math.min(l.lines, line - l.line)), 0)

/** The text with every secret masked; what can't be read isn't shown. */
export function maskText(text: string): Masked {
  const { text: shown, lost } = maskLines(text)
  return { text: shown, lineOf: (line) => lineIn(lost, line) }
}

/** As `maskText`, with the lines that went instead of a function. */
export function maskLines(text: string): { text: string; lost: Lost[] | null } {
  let hidden: string
  try {
    hidden = maskSecrets(text)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return { text: `# It is not shown, because it can't be read: ${error.problems[0]?.message ?? ''}`.replaceAll('\n', ' '), lost: null }
  }
  if (!hidden.includes(masked)) return { text, lost: [] }
  const clear = read(text)
  const edits: Edit[] = []
  for (const [i, document] of read(hidden).entries()) {
    for (const path of scalarsWith(document.contents, masked)) {
      const node = clear[i]?.getIn(path, true)
      if (isScalar(node) && node.range) edits.push({ ...rangeOf(node, text), by: masked })
    }
  }
  const breaks = (part: string) => part.split('\n').length - 1
  const lost = edits.map(({ from, to }) => ({ line: breaks(text.slice(0, from)) + 1, lines: breaks(text.slice(from, to)) }))
  return { text: splice(text, edits), lost }
}

const identity = (document: Document.Parsed): string => JSON.stringify(['apiVersion', 'kind', 'name'].map((key) => document.get(key) ?? null))
/** Without resolving aliases: the text has not been checked yet. */
const plain = (node: unknown): unknown =>
  isScalar(node) ? node.value : isSeq(node) ? node.items.map(plain) : isMap(node) ? node.items.map((pair) => [plain(pair.key), plain(pair.value)]) : null

/**
 * The text with the secrets of `before` where it holds masks: what is edited is what was shown. In lists an element is known again by what else
 * is in it, because elements are taken out and put in.
 * @throws Problem `invalid` where a mask stands for nothing that is known
 */
export function unmask(text: string, before: string): string {
  if (!text.includes(masked)) return text
  const known = read(before)
  const shown = read(maskText(before).text)
  const edits: Edit[] = []
  const restore = (node: unknown, clear: unknown, hidden: unknown): void => {
    if (isScalar(node)) {
      if (node.value !== masked) return
      if (!isScalar(clear) || typeof clear.value !== 'string') throw unknownSecret(text, node)
      edits.push({ ...rangeOf(node, text), by: JSON.stringify(clear.value) })
    } else if (isMap(node)) {
      for (const pair of node.items) {
        const key = isScalar(pair.key) ? pair.key.value : pair.key
        restore(pair.value, isMap(clear) ? clear.get(key, true) : undefined, isMap(hidden) ? hidden.get(key, true) : undefined)
      }
    } else if (isSeq(node)) {
      const [were, areShown] = [isSeq(clear) ? clear.items : [], isSeq(hidden) ? hidden.items : []]
      for (const [i, item] of node.items.entries()) {
        if (scalarsWith(item, masked).next().done) continue
        const same = areShown.findIndex((s) => JSON.stringify(plain(s)) === JSON.stringify(plain(item)))
        const at = same >= 0 ? same : were.length === node.items.length ? i : -1
        restore(item, were[at], areShown[at])
      }
    }
  }
  for (const [i, document] of read(text).entries()) {
    const id = identity(document)
    const same = known.findIndex((d) => identity(d) === id)
    const at = same >= 0 ? same : i
    restore(document.contents, known[at]?.contents, shown[at]?.contents)
  }
  return splice(text, edits)
}

function unknownSecret(text: string, node: Scalar): Problem {
  const line = text.slice(0, node.range?.[0] ?? 0).split('\n').length
  const message = `Line ${line}: ${masked} stands for a secret that is not known here. Enter the secret itself`
  return new Problem('invalid', message, { body: message })
}
